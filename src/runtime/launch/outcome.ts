/** What a launch is asked for, and what it can come to. */

import type { ArtifactName, ArtifactVersion } from "../../registry/artifact-name.ts";
import type { DoorUrl } from "../addresses.ts";
import type { Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import type { SnapshotProgress } from "../snapshot/thread.ts";
import type { HeldDirectory } from "../tree/held.ts";
import type { ExitStatus } from "./exit-status.ts";

/** What a launch is asked for. */
export interface LaunchRequest {
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** The conversation that the delegation is made from. */
  readonly contextId: string;
  /** The parent's door, where a completion is wanted; a plan's `capsule` step gives none. */
  readonly completionDoor?: DoorUrl;
  /** Aborted: the launch is given up at whatever it is doing, and what was started is ended and reaped. */
  readonly signal?: AbortSignal;
  /** Called once, where a process was started; the delegation has its id from then on. */
  readonly onStarted?: (delegationId: string) => void;
  /** Called now and then while the parent's work folder is copied. */
  readonly onProgress?: (progress: SnapshotProgress) => void;
}

/** What a launch came to. */
export type LaunchOutcome =
  | { readonly kind: "launched"; readonly child: LaunchedChild }
  /** Nothing exists. `sentence` is the daemon's, byte for byte, or says why the daemon could not be asked. */
  | { readonly kind: "refused"; readonly sentence: string }
  | { readonly kind: "failed"; readonly failure: LaunchFailure };

/** What went wrong, one word for each way a launch can fail; `message` says what and where for a reader. */
export type LaunchFailureCause =
  /** The parent's own store does not hold the artifact that was judged. */
  | "artifact"
  | "lifeline"
  | "folder"
  | "snapshot"
  /** The approval's time was over before the child could be started. */
  | "expired"
  | "not-started"
  /** The process ended without a first line. */
  | "ended"
  /** No first line within the launch bound. */
  | "silent"
  | "not-json"
  | "no-session-id"
  /** The id that it reported is its parent's own, or another child's. */
  | "taken-session-id"
  | "bad-door"
  | "bad-token"
  | "canceled"
  /** Something in this process threw that should not: a fault of this library, or of what it was given. */
  | "broken";

/** Why a granted launch has no child. */
export interface LaunchFailure {
  readonly cause: LaunchFailureCause;
  /** Names what failed and where, in the launcher's own words; holds no token and nothing that the child said. */
  readonly message: string;
  /** What the child wrote last to its standard error, at most 20 lines, redacted and escaped: its own words. */
  readonly lastLines?: readonly string[];
  /** Where a process had been started: its delegation, and the work folder that is kept. */
  readonly started?: { readonly delegationId: string; readonly workdir: string };
}

/** A child that reported itself ready. Its process is the launcher's until it has been reaped. */
export interface LaunchedChild extends Disposable {
  readonly delegationId: string;
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** The child's own session, as it reported it. */
  readonly sessionId: string;
  /** Absent on a capsule that serves no A2A. */
  readonly door: DoorUrl | undefined;
  /** The bearer token of that door, where it has one. */
  readonly operatorToken: Secret | undefined;
  /** The tokens of this launch, its approval and the child's own: nothing that the child says may show them. */
  readonly secrets: readonly Secret[];
  /** The child's work folder; held until `release`. */
  readonly workdir: HeldDirectory;
  /**
   * The child's own records directory, held until `release`; the fault says why no record can be read. One that was
   * not there when the child was ready is looked for again when it has ended.
   */
  readonly records: Result<HeldDirectory, string>;
  /** What the folder started with, where the parent's was copied into it. */
  readonly copy: WorkdirSnapshot | undefined;
  readonly pid: number;
  /** When its first line was read, on the session's clock (`elapsed`): the child watch counts from here. */
  readonly readyAt: number;
  /** Settles when the process has been reaped, or cannot be (`unreaped`). */
  readonly exited: Promise<ExitStatus>;
  /** The last lines of its standard error, at most 20; waits up to 5 s for the end of the pipe. */
  lastStderrLines(): Promise<string[]>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
  /** Lets go of the child's folders, once what it left has been read. The child itself is not ended by it. */
  release(): void;
  /** The same: `using child = outcome.child`. */
  [Symbol.dispose](): void;
}
