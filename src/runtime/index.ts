/**
 * The runtime's side of a delegation, for authors of capsule runtimes in TypeScript on Bun: open a session, launch the
 * capsules it may spawn, end them, and be launched in turn.
 */

export type { Outcome } from "../api/schemas.ts";
export {
  type ArtifactName,
  type ArtifactVersion,
  bareName,
  type Coordinates,
  parseArtifactName,
  parseArtifactVersion,
} from "../registry/artifact-name.ts";
export type { Result } from "../result.ts";
export { denyInspection } from "../sys/this-process.ts";
export {
  CHILD_FILE_BYTES,
  type Reading,
  type ReadingOptions,
  readChildFile,
  type UnreadFile,
} from "./child-files.ts";
export {
  createRoostClient,
  type RoostAnswer,
  type RoostClient,
  refusalSentence,
  type SpawnApproval,
} from "./client.ts";
export { type Clock, systemClock } from "./clock.ts";
export { parseRunArguments, type RunArguments } from "./contract/arguments.ts";
export {
  commandEnvironment,
  delegationTimeoutSecs,
  describeRefusal,
  type Environment,
  type SpawnerHandle,
  type StartRefusal,
} from "./contract/environment.ts";
export type { FormationId } from "./contract/formation.ts";
export { type HeldLifeline, holdLifeline } from "./contract/lifeline.ts";
export { type CapsuleStep, runCapsuleStep, type StepOutcome } from "./delegation/capsule-step.ts";
export type { TaskEnd } from "./delegation/child-door.ts";
export type { DelegateTask, DelegateTaskResult, ToolDefinition } from "./delegation/delegate-task.ts";
export type { TaskDelegationsOptions } from "./delegation/delegations.ts";
export {
  type AttemptEnd,
  createTaskDelegations,
  type Settlement,
  type TaskDelegations,
} from "./delegation/delegations.ts";
export {
  answerCompletion,
  type CompletionDoor,
  completionPlugin,
  createCompletionDoor,
  type RequestHooks,
} from "./delegation/door.ts";
export type { AlongsideWait } from "./delegation/in-flight.ts";
export { type ReceivedTask, type ServeTaskOptions, serveTask } from "./delegation/serve-task.ts";
export {
  createTrace,
  type SessionExitStatus,
  type StartedSession,
  type Trace,
  type TracedSession,
  type TraceEvent,
  traceSessionEnd,
  traceSessionStart,
} from "./delegation/trace.ts";
export { fenceUntrusted } from "./delegation/untrusted.ts";
export type { SessionDirectories } from "./directories.ts";
export { exchange, type HttpExchange, type HttpRequest } from "./http.ts";
export { describeExit, type Endable, type ExitStatus, endAll } from "./launch/held-process.ts";
export { launch } from "./launch/launch.ts";
export type {
  ChildRecords,
  LaunchedChild,
  LaunchFailure,
  LaunchFailureCause,
  LaunchOutcome,
  LaunchRequest,
  ReportedChild,
} from "./launch/outcome.ts";
export type { RuntimeManifest } from "./manifest.ts";
export type { Output } from "./output.ts";
export { Secret } from "./secret.ts";
export { type EndedBy, type Ending, endWithSpawner, type Followed } from "./session/follow.ts";
export type { Registration } from "./session/registration.ts";
export {
  announceReady,
  canDelegate,
  closeSession,
  type DelegatingSession,
  openSession,
  type RegisteredSession,
  type Session,
  type SessionOptions,
} from "./session/session.ts";
export type { SnapshotProgress, WorkdirSnapshot } from "./snapshot/account.ts";
export type { HeldDirectory } from "./tree/held.ts";
export {
  type DoorUrl,
  type Id,
  type IdPrefix,
  newId,
  parseDoorUrl,
  parseRoostUrl,
  type RoostUrl,
} from "./wire.ts";
