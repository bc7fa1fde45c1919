/**
 * One launch: the daemon's approval, the artifact that was judged, a folder, a process, and its first line.
 *
 * Whatever goes wrong, nothing is left behind: a process that was started has been reaped, the lifeline is closed, and
 * the child's folder is gone where no process was ever started in it.
 */

import { resolve } from "node:path";
import { printable } from "../../printable.ts";
import { bareName } from "../../registry/artifact-name.ts";
import { refusalSentence, type SpawnApproval } from "../client.ts";
import { within } from "../clock.ts";
import { childCommand } from "../contract/arguments.ts";
import { childEnvironment } from "../contract/environment.ts";
import { parseReadiness, type Readiness } from "../contract/readiness.ts";
import type { ChildDirectory } from "../directories.ts";
import { newId } from "../identifiers.ts";
import { openLifeline, type ParentLifeline } from "../lifeline/parent.ts";
import type { RuntimeManifest } from "../manifest.ts";
import { fault, ok, type Result } from "../result.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import { type SnapshotFault, snapshotWorkdir } from "../snapshot/snapshot.ts";
import { CHILD_LIFELINE, type ChildProcess, describeExit, startProcess } from "./child-process.ts";
import { findChildRecords } from "./child-records.ts";
import { endAll } from "./ending.ts";
import type { LaunchFailureCause, LaunchOutcome, LaunchRequest } from "./outcome.ts";

/** From starting the child process to its first line. */
export const LAUNCH_BOUND_MS = 180_000;
/** How long an end of standard output may come before the end of the process. */
const EXIT_FOLLOWS_MS = 5_000;

/** Everything a step of one launch looks at. */
interface Launch {
  readonly session: RegisteredSession;
  readonly asked: LaunchRequest;
  readonly approval: SpawnApproval;
  readonly manifest: RuntimeManifest;
  readonly lifeline: ParentLifeline;
}

interface Failed {
  readonly cause: LaunchFailureCause;
  readonly message: string;
}

/** Asks for the capsule and starts it; settles when it runs and is ready, or when it is certain that it does not. */
export async function launch(session: RegisteredSession, asked: LaunchRequest): Promise<LaunchOutcome> {
  const { client, credential } = session.registration;
  const answer = await client.spawn({ name: asked.name, version: asked.version }, credential, asked.signal);
  if (asked.signal?.aborted) return failure(canceled(asked));
  if (answer.kind !== "granted") return { kind: "refused", sentence: refusalSentence(answer, client.url) };
  const manifest = await judgedManifest(session, asked, answer.value);
  if (!manifest.ok) return failure(manifest.fault);
  const lifeline = openLifeline();
  if (!lifeline.ok) return failure(failed("lifeline", asked, `no pipe for its lifeline: ${lifeline.fault}`));
  const outcome = await launchInFolder({
    session,
    asked,
    approval: answer.value,
    manifest: manifest.value,
    lifeline: lifeline.value,
  });
  if (outcome.kind !== "launched") lifeline.value.close();
  return outcome;
}

/** Nothing of a manifest is used unless it stands in the very bytes that the daemon judged. */
async function judgedManifest(
  session: RegisteredSession,
  asked: LaunchRequest,
  approval: SpawnApproval,
): Promise<Result<RuntimeManifest, Failed>> {
  const packed = await session.store.resolve(asked);
  if (!packed.ok) {
    return fault(failed("artifact", asked, `this capsule's own store does not hold it: ${packed.fault}`));
  }
  if (packed.value.sha256 !== approval.sha256) {
    const both = `in the store ${packed.value.sha256}, judged ${approval.sha256}`;
    return fault(
      failed(
        "artifact",
        asked,
        `the artifact in this capsule's own store is not the one mur-roost judged (${both})`,
      ),
    );
  }
  return ok(packed.value.manifest);
}

async function launchInFolder(launch: Launch): Promise<LaunchOutcome> {
  const { session, asked } = launch;
  const folder = session.directories.createChild(bareName(asked.name));
  if (!folder.ok) return failure(failed("folder", asked, folder.fault));
  const started = await startInFolder(launch, folder.value);
  if (!started.ok) {
    const removed = await folder.value.remove();
    if (!removed.ok) session.diagnose(`warning: ${removed.fault}`);
    return failure(started.fault);
  }
  return ready(launch, folder.value, started.value);
}

/** A link into the work folder may name it as its user did, where that is another path to it. */
function copyWorkdir(
  { session, asked, manifest }: Launch,
  destination: ChildDirectory,
): Promise<Result<WorkdirSnapshot, SnapshotFault>> {
  const { workdir, runtime, records } = session.directories;
  return snapshotWorkdir({
    source: workdir,
    sourceAlias: resolve(session.run.workdir),
    destination,
    ceilingBytes: manifest.workdirMaxBytes,
    runtimeOwned: [runtime, records],
    signal: asked.signal,
    ...(asked.onProgress && { onProgress: asked.onProgress }),
  });
}

interface Started {
  readonly process: ChildProcess;
  readonly delegationId: string;
  readonly copy: WorkdirSnapshot | undefined;
}

async function startInFolder(launch: Launch, folder: ChildDirectory): Promise<Result<Started, Failed>> {
  const { session, asked, approval, manifest, lifeline } = launch;
  let copy: WorkdirSnapshot | undefined;
  if (session.manifest.workdirSnapshot.includes(asked.name)) {
    const copied = await copyWorkdir(launch, folder);
    if (!copied.ok && !asked.signal?.aborted) return fault(failed("snapshot", asked, copied.fault.message));
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
  // As late as can be: a long copy may have outlived the approval, and the child could only be refused with it.
  if (session.clock.now() >= approval.expires_at_ms) {
    return fault(
      failed("expired", asked, "its spawn approval expired before it could be started; ask for it again"),
    );
  }
  const process = startProcess({
    command,
    workdir: folder.path,
    environment,
    lifeline: lifeline.readEnd,
    approval: approval.approval,
    output: session.output,
    clock: session.clock,
  });
  if (!process.ok) {
    return fault(failed("not-started", asked, `${command[0]} could not be started: ${process.fault}`));
  }
  lifeline.handedOver();
  void process.value.exited.then(lifeline.close);
  asked.onStarted?.(delegationId);
  return ok({ process: process.value, delegationId, copy });
}

async function ready(launch: Launch, folder: ChildDirectory, started: Started): Promise<LaunchOutcome> {
  const { session, asked } = launch;
  const { process, delegationId, copy } = started;
  const readiness = await awaitReadiness(launch, process);
  if (!readiness.ok) {
    process.quieten();
    await endAll([process], session.clock);
    const { cause, message } = readiness.fault;
    // Of a child that was given up there is nothing to explain: the end of its pipe is not waited for.
    const lines = cause === "canceled" ? [] : await process.lastStderrLines();
    folder.close();
    return {
      kind: "failed",
      failure: { cause, message, lastLines: lines, started: { delegationId, workdir: folder.path } },
    };
  }
  const { sessionId, door, operatorToken, recordsDirectory } = readiness.value;
  const own = operatorToken ? [operatorToken] : [];
  const secrets = [launch.approval.approval, ...own];
  const records = findChildRecords({
    home: session.directories.home,
    homeAsGiven: session.environment.HOME,
    workdir: folder.path,
    sessionId,
    reported: recordsDirectory,
    secrets,
  });
  void process.exited.then(records.lookAgain);
  process.share(own);
  return {
    kind: "launched",
    child: {
      delegationId,
      name: asked.name,
      version: asked.version,
      sessionId,
      door,
      operatorToken,
      secrets,
      workdir: folder,
      get records() {
        return records.found;
      },
      copy,
      pid: process.pid,
      readyAt: session.clock.elapsed(),
      exited: process.exited,
      lastStderrLines: process.lastStderrLines,
      signal: process.signal,
      release() {
        folder.close();
        records.close();
      },
    },
  };
}

async function awaitReadiness(launch: Launch, process: ChildProcess): Promise<Result<Readiness, Failed>> {
  const { session, asked } = launch;
  const giveUp = abortOf(asked.signal);
  const first = await within(
    session.clock,
    LAUNCH_BOUND_MS,
    Promise.race([process.firstLine, giveUp.aborted]),
  );
  giveUp.forget();
  if (first === "late") {
    return fault(
      failed("silent", asked, `it wrote no first line within ${LAUNCH_BOUND_MS / 1000} s of its start`),
    );
  }
  if (first.value === "aborted") return fault(canceled(asked));
  if (first.value.kind === "too-long") {
    return fault(failed("not-json", asked, "its first line is not a JSON object: it does not end"));
  }
  if (first.value.kind === "none") {
    const exit = await within(session.clock, EXIT_FOLLOWS_MS, process.exited);
    const how = exit === "late" ? "it closed its standard output" : `it ended (${describeExit(exit.value)})`;
    return fault(failed("ended", asked, `${how} without a first line`));
  }
  const readiness = parseReadiness(first.value.text, launch.approval.approval);
  if (!readiness.ok) {
    return fault(failed(readiness.fault.kind, asked, `its first line ${readiness.fault.why}`));
  }
  const claimed = session.childSessions.claim(readiness.value.sessionId);
  if (!claimed.ok) return fault(failed("taken-session-id", asked, `its first line ${claimed.fault}`));
  return ok(readiness.value);
}

function failed(cause: LaunchFailureCause, asked: LaunchRequest, why: string): Failed {
  // What a store or a system says of itself may quote anything.
  return { cause, message: printable(`could not launch ${asked.name}@${asked.version}: ${why}`) };
}

function canceled(asked: LaunchRequest): Failed {
  return failed("canceled", asked, "the launch was given up");
}

function failure(what: Failed): LaunchOutcome {
  return { kind: "failed", failure: what };
}

/** The abort as a promise, whose listener is gone after `forget`. */
function abortOf(signal: AbortSignal | undefined): {
  readonly aborted: Promise<"aborted">;
  readonly forget: () => void;
} {
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const abort = () => resolve("aborted");
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return { aborted, forget: () => signal?.removeEventListener("abort", abort) };
}
