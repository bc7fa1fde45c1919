/**
 * One launch: the daemon's approval, the artifact that it judged, a folder, a process, and its first line.
 *
 * A failed launch leaves nothing behind, whatever went wrong. A process that was started has been ended. The lifeline
 * is closed, unless a process survives that nothing can end. The child's folder is removed if no process was ever
 * started in it.
 */

import { messageOf } from "../../os-error.ts";
import { bareName } from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import { refusalSentence, type SpawnApproval } from "../client.ts";
import { unlessAborted } from "../clock.ts";
import { childCommand } from "../contract/arguments.ts";
import { childEnvironment } from "../contract/environment.ts";
import { openLifeline, type ParentLifeline } from "../contract/lifeline.ts";
import type { ChildDirectory } from "../directories.ts";
import type { ChildManifest } from "../manifest.ts";
import { childOutput } from "../output.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import { type SnapshotFault, snapshotWorkdir } from "../snapshot/snapshot.ts";
import { newId } from "../wire.ts";
import { CHILD_LIFELINE, startProcess } from "./child-process.ts";
import { endAll } from "./held-process.ts";
import { awaitReadiness, lastLinesOf, launchedChild, type Started, type Unready } from "./launched-child.ts";
import {
  canceled,
  type FailedLaunch,
  failed,
  type LaunchedChild,
  type LaunchOutcome,
  type LaunchRequest,
} from "./outcome.ts";

/** Everything a step of one launch looks at. */
interface Launch {
  readonly session: RegisteredSession;
  readonly asked: LaunchRequest;
  readonly approval: SpawnApproval;
  readonly manifest: ChildManifest;
  readonly lifeline: ParentLifeline;
}

/**
 * Asks for the capsule and starts it. Settles when the child is ready, or when it is certain that there will be none.
 * Never rejects: if one of the caller's functions throws, that becomes one line for the operator.
 */
export async function launch(session: RegisteredSession, given: LaunchRequest): Promise<LaunchOutcome> {
  const asked = withoutThrowing(given, (line) => session.diagnose(line));
  try {
    return await askAndStart(session, asked);
  } catch (error) {
    const why = messageOf(error);
    return failed("broken", asked, `something in this process threw: ${why}`);
  }
}

/**
 * The same request, with safe functions: if one throws or rejects, the operator gets one line, and the launch goes on.
 */
function withoutThrowing(asked: LaunchRequest, diagnose: (line: string) => void): LaunchRequest {
  const { onStarted, onReported, onProgress } = asked;
  return {
    ...asked,
    ...(onStarted && { onStarted: guarded("onStarted", onStarted, diagnose) }),
    ...(onReported && { onReported: guarded("onReported", onReported, diagnose) }),
    ...(onProgress && { onProgress: guarded("onProgress", onProgress, diagnose) }),
  };
}

function guarded<T>(name: string, call: (value: T) => void, diagnose: (line: string) => void) {
  const complain = (error: unknown) => diagnose(`warning: ${name} of a launch failed: ${messageOf(error)}`);
  return (value: T) => {
    try {
      // The types allow a function that returns a promise where one that returns nothing is expected.
      const returned: unknown = call(value);
      if (returned instanceof Promise) returned.catch(complain);
    } catch (error) {
      complain(error);
    }
  };
}

async function askAndStart(session: RegisteredSession, asked: LaunchRequest): Promise<LaunchOutcome> {
  const { client, credential } = session.registration;
  const answer = await client.spawn({ name: asked.name, version: asked.version }, credential, asked.signal);
  if (asked.signal?.aborted) return canceled(asked);
  if (answer.kind !== "granted") return { kind: "refused", sentence: refusalSentence(answer, client.url) };
  const approval = answer.value;
  const manifest = await judgedManifest(session, asked, approval);
  if (!manifest.ok) return manifest.fault;
  const lifeline = openLifeline();
  if (!lifeline.ok) return failed("lifeline", asked, `no pipe for its lifeline: ${lifeline.fault}`);
  try {
    const launch = { session, asked, approval, manifest: manifest.value, lifeline: lifeline.value };
    return await launchInFolder(launch);
  } finally {
    lifeline.value.close();
  }
}

/** A manifest is used only if it comes from the very bytes that the daemon judged. */
async function judgedManifest(
  session: RegisteredSession,
  asked: LaunchRequest,
  approval: SpawnApproval,
): Promise<Result<ChildManifest, FailedLaunch>> {
  const packed = await unlessAborted(asked.signal, session.store.resolveChild(asked));
  if (packed === "aborted") return fault(canceled(asked));
  const no = (why: string) => fault(failed("artifact", asked, why));
  if (!packed.ok) return no(`this capsule's own store has no copy of it that can be used: ${packed.fault}`);
  const { sha256, manifest } = packed.value;
  if (sha256 === approval.sha256) return ok(manifest);
  const both = `in the store ${sha256}, judged ${approval.sha256}`;
  return no(`the artifact in this capsule's own store is not the one mur-roost judged (${both})`);
}

async function launchInFolder(launch: Launch): Promise<LaunchOutcome> {
  const { session, asked } = launch;
  const folder = session.directories.createChild(bareName(asked.name));
  if (!folder.ok) return failed("folder", asked, folder.fault);
  let started: Result<Started, FailedLaunch> | undefined;
  try {
    started = await startInFolder(launch, folder.value);
  } finally {
    if (!started?.ok) {
      const removed = await folder.value.remove();
      if (!removed.ok) session.diagnose(`warning: ${removed.fault}`);
    }
  }
  return started.ok ? ready(started.value) : started.fault;
}

/** No longer than the approval lasts: without it the child is not started. */
async function copyInTime(
  launch: Launch,
  folder: ChildDirectory,
): Promise<Result<WorkdirSnapshot, FailedLaunch>> {
  const { session, asked, approval } = launch;
  const expiry = new AbortController();
  const left = approval.expires_at_ms - session.clock.now();
  const release = session.clock.after(left, () => expiry.abort());
  const ends = asked.signal ? [asked.signal, expiry.signal] : [expiry.signal];
  try {
    const copied = await copyWorkdir(launch, folder, AbortSignal.any(ends));
    if (copied.ok) return copied;
    const { kind, message } = copied.fault;
    return fault(kind === "aborted" ? expired(asked) : failed("snapshot", asked, message));
  } finally {
    release();
  }
}

function expired(asked: LaunchRequest): FailedLaunch {
  return failed("expired", asked, "its spawn approval expired before it could be started; ask for it again");
}

/** A link into the work folder may use the path that its user gave, if that differs from the resolved one. */
function copyWorkdir(
  { session, asked, manifest }: Launch,
  destination: ChildDirectory,
  signal: AbortSignal,
): Promise<Result<WorkdirSnapshot, SnapshotFault>> {
  const { workdir, givenWorkdir, runtime, records } = session.directories;
  return snapshotWorkdir({
    source: workdir,
    sourceAlias: givenWorkdir,
    destination,
    ceilingBytes: manifest.workdirMaxBytes,
    runtimeOwned: [runtime, records],
    signal,
    ...(asked.onProgress && { onProgress: asked.onProgress }),
  });
}

async function startInFolder(launch: Launch, folder: ChildDirectory): Promise<Result<Started, FailedLaunch>> {
  const { session, asked, approval, manifest, lifeline } = launch;
  let copy: WorkdirSnapshot | undefined;
  if (session.manifest.workdirSnapshot.includes(asked.name)) {
    const copied = await copyInTime(launch, folder);
    if (!copied.ok && !asked.signal?.aborted) return copied;
    if (copied.ok) copy = copied.value;
  }
  if (asked.signal?.aborted) return fault(canceled(asked));
  const delegationId = newId("dlg");
  const command = childCommand(session.environment, asked, folder.path, copy);
  const environment = childEnvironment({
    parent: session.environment,
    roostUrl: session.registration.client.url,
    lifeline: CHILD_LIFELINE,
    handle: {
      sessionId: session.id,
      contextId: asked.contextId,
      delegationId,
      ...(asked.completionDoor && { url: asked.completionDoor }),
    },
    formationId: session.formationId,
    parentAllows: session.manifest.envAllow,
    childAllows: manifest.envAllow,
  });
  // Checked as late as possible: the approval may have expired during a long copy, and the child would then be refused.
  if (session.clock.now() >= approval.expires_at_ms) return fault(expired(asked));
  const process = startProcess({
    command,
    workdir: folder.descriptor,
    environment,
    lifeline: lifeline.readEnd,
    approval: approval.approval,
    output: childOutput(session),
    clock: session.clock,
    diagnose: session.diagnose,
  });
  if (!process.ok) {
    return fault(failed("not-started", asked, `${command[0]} could not be started: ${process.fault}`));
  }
  lifeline.handedOver(process.value.gone);
  asked.onStarted?.(delegationId);
  return ok({ ...launch, approval: approval.approval, folder, process: process.value, delegationId, copy });
}

/** A process that does not become ready is ended. */
async function ready(started: Started): Promise<LaunchOutcome> {
  const { session, folder, process, delegationId } = started;
  let child: LaunchedChild | undefined;
  let unready: Unready;
  try {
    const readiness = await awaitReadiness(started);
    if (readiness.ok) {
      child = launchedChild(started, readiness.value);
      return { kind: "launched", child };
    }
    unready = readiness.fault;
  } finally {
    if (!child) {
      folder.close();
      process.quieten();
      await endAll([process], session.clock, session.hurry.signal);
    }
  }
  const { sessionId, ...why } = unready;
  const lastLines = await lastLinesOf(started);
  const ids = { delegationId, ...(sessionId !== undefined && { sessionId }) };
  return { kind: "failed", failure: { ...why, lastLines, started: { ...ids, workdir: folder.path } } };
}
