/**
 * A capsule's session, from its runtime's side: read what the spawner passed, register if needed, print the readiness
 * line, and retire at the end. A delegated child and a capsule started by hand open their sessions the same way.
 */

import type { Outcome } from "../../api/schemas.ts";
import { messageOf } from "../../os-error.ts";
import { printable } from "../../printable.ts";
import { fault, ok, type Result } from "../../result.ts";
import { libraryFault } from "../../sys/library.ts";
import { keepExitStatuses } from "../../sys/process.ts";
import { refusalSentence } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { parseRunArguments, type RunArguments } from "../contract/arguments.ts";
import type { Environment, StartRefusal } from "../contract/environment.ts";
import { type ChildSessions, createChildSessions, formatReadiness } from "../contract/readiness.ts";
import { type DelegateTask, delegateTaskOf } from "../delegation/delegate-task.ts";
import { reportOwnEnd } from "../delegation/own-end.ts";
import { createSessionDirectories, openHome, type SessionDirectories } from "../directories.ts";
import { type ArtifactStore, artifactStore, type RuntimeManifest } from "../manifest.ts";
import { createDiagnostics, type Diagnose, type Output, processOutput } from "../output.ts";
import type { Secret } from "../secret.ts";
import { type DoorUrl, newId } from "../wire.ts";
import { holdSignals, takeOverSignals } from "./early-signals.ts";
import { deregister, lastAnswer, type Registration, registerWhereNeeded } from "./registration.ts";
import { readStart, type Start } from "./start.ts";

/** What a session needs from outside. Anything left out is taken from the process. */
export interface SessionOptions {
  /** The parsed arguments after the program's name. */
  readonly run?: RunArguments;
  readonly environment?: Environment;
  readonly input?: ReadableStream<Uint8Array>;
  readonly output?: Output;
  readonly clock?: Clock;
  /** When it aborts, the session is not opened. */
  readonly signal?: AbortSignal;
}

/** A capsule's own session, from its start to `closeSession`. */
export interface Session extends AsyncDisposable, Start {
  readonly id: string;
  readonly run: RunArguments;
  /** The capsule's manifest, from its store. */
  readonly manifest: RuntimeManifest;
  readonly store: ArtifactStore;
  readonly directories: SessionDirectories;
  /** Absent if not needed: there is neither `capabilities.spawn.allow` nor an approval. */
  readonly registration: Registration | undefined;
  /** The tool to offer to its model; absent if `capabilities.spawn.allow` is empty. */
  readonly delegateTask: DelegateTask | undefined;
  /** The ids of its children. */
  readonly childSessions: ChildSessions;
  /**
   * Aborts when a signal retires the session, and when this process gets SIGTERM and holds a lifeline: its spawner
   * sends SIGKILL 5 s later, and ending its own children takes 3 s (`endAll`).
   */
  readonly hurry: AbortController;
  readonly environment: Environment;
  readonly output: Output;
  /** `isDue`: a parent still waits for its readiness line, so nothing else may be on its standard output. */
  readonly readiness: { isDue: boolean };
  readonly clock: Clock;
  /** When it was opened, on its clock (`elapsed`). */
  readonly openedAt: number;
  /** Writes one line for the operator of this session. */
  readonly diagnose: Diagnose;
  /** Closes it as `failed`, unless `closeSession` was called: `await using session = opened.value`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A session that is registered with the daemon. */
export type RegisteredSession = Session & { readonly registration: Registration };

export function isRegistered(session: Session): session is RegisteredSession {
  return session.registration !== undefined;
}

/** A session that may have children, because its manifest lists some. */
export type DelegatingSession = RegisteredSession & { readonly delegateTask: DelegateTask };

/** Whether the session may have children: it is registered, and its manifest lists some. */
export function canDelegate(session: Session): session is DelegatingSession {
  return isRegistered(session) && session.delegateTask !== undefined;
}

/**
 * Opens the session. First it makes the checks that can refuse the launch, then it registers, then it makes its
 * directories. Call it once in a process, before you start anything else. From then on, a child ends at most 20 s after
 * its spawner, with status 143, even if its main thread is blocked. `endWithSpawner` says what it does until then.
 *
 * Until `endWithSpawner` is called, a SIGTERM, SIGINT or SIGHUP retires the session and then ends the process, within
 * 2.5 s. A program with a handler of its own for the signal must do this itself, within 30 s after SIGTERM or SIGINT.
 *
 * @returns the session, or why this capsule does not start
 */
export async function openSession(options: SessionOptions = {}): Promise<Result<Session, StartRefusal>> {
  const early = holdSignals();
  let opened: Result<Session, StartRefusal> | undefined;
  try {
    opened = await open(options, early.received);
  } finally {
    if (!opened?.ok) early.release();
  }
  if (!opened.ok) return opened;
  const session = opened.value;
  // Its launcher records how it ended, because it sees the signal.
  await early.retireBy(session.directories, () => {
    // Cancels a post in progress.
    session.hurry.abort();
    return retire(session, "failed");
  });
  return opened;
}

async function open(options: SessionOptions, received: AbortSignal): Promise<Result<Session, StartRefusal>> {
  const noCalls = libraryFault();
  if (noCalls !== undefined) {
    const message = `this process may not call the C library (${noCalls}), which its children and its lifeline need; start it where a program may run memory that it has written`;
    return fault({ message });
  }
  keepExitStatuses();
  const environment = options.environment ?? process.env;
  const clock = options.clock ?? systemClock;
  const output = options.output ?? processOutput();
  const read = options.run ? ok(options.run) : parseRunArguments(process.argv.slice(2));
  if (!read.ok) return fault({ message: read.fault });
  const run = read.value;

  const started = readStart(environment);
  if (!started.ok) return started;
  const home = openHome(environment.HOME);
  if (!home.ok) return fault({ message: home.fault });
  home.value.close();
  const store = artifactStore(home.value.path);
  const packed = await store.resolve(run);
  if (!packed.ok) return fault({ code: "E-MAN-003", message: printable(packed.fault) });
  const { manifest } = packed.value;

  const id = newId("ses");
  const signal = options.signal ? AbortSignal.any([options.signal, received]) : received;
  const registered = await registerWhereNeeded(id, run, manifest, { ...options, environment, clock, signal });
  if (!registered.ok) return registered;
  const registration = registered.value;
  const { workdir } = run;
  const directories = createSessionDirectories({ home: environment.HOME, workdir, sessionId: id });
  if (!directories.ok) {
    await registration?.client.deregister("failed", registration.credential);
    return fault({ message: directories.fault });
  }
  const session: Session = {
    id,
    run,
    manifest,
    store,
    directories: directories.value,
    registration,
    delegateTask: delegateTaskOf(manifest),
    childSessions: createChildSessions(id, started.value.spawner?.sessionId),
    ...started.value,
    hurry: new AbortController(),
    environment,
    output,
    readiness: { isDue: run.grantOnStdin },
    clock,
    openedAt: clock.elapsed(),
    diagnose: createDiagnostics(output, directories.value.records, started.value.lifeline),
    [Symbol.asyncDispose]: () => retire(session, "failed"),
  };
  return ok(session);
}

/**
 * Tells the process that started this one that the session is ready. It prints the one line on standard output that a
 * parent waits for. A capsule that serves no A2A passes no door, and calls this when its run has finished.
 */
export async function announceReady(session: Session, door?: DoorUrl, operatorToken?: Secret): Promise<void> {
  const { id: sessionId, run, directories } = session;
  if (door) serving.add(directories);
  const line = formatReadiness({
    sessionId,
    name: run.name,
    version: run.version,
    workdir: directories.workdir.path,
    recordsDirectory: directories.records.path,
    ...(door && { door }),
    ...(operatorToken && run.readinessTokens && { operatorToken }),
    ...(session.formationId && { formationId: session.formationId }),
  });
  const written = session.output.stdout(Buffer.from(`${line}\n`));
  session.readiness.isDue = false;
  await written;
}

const closings = new WeakMap<SessionDirectories, Promise<void>>();
/** The sessions that announced a door: agents. */
const serving = new WeakSet<SessionDirectories>();

/**
 * Retires the session: reports its end to its parent if there is one, deregisters it and removes its runtime directory.
 * Its records stay. If one of them does not answer, the operator gets one line of warning, and the rest goes on. A
 * second call only waits for the first, whose outcome counts.
 *
 * @param outcome anything else than `complete` counts as `failed`: the daemon would refuse another word, and keep the slot
 * @param signal when it aborts, we no longer wait for our parent's answer, and 2 s at most for the daemon's
 */
export function closeSession(session: Session, outcome: Outcome, signal?: AbortSignal): Promise<void> {
  const { directories, hurry } = session;
  const isComplete = outcome === "complete";
  return retire(session, isComplete ? "complete" : "failed", signal, () => {
    const resultIn = serving.has(directories) ? directories.records : directories.workdir;
    // A session that is being ended keeps no slot for the sake of its report.
    const cut = signal ? AbortSignal.any([hurry.signal, signal]) : hurry.signal;
    return reportOwnEnd(session, { status: isComplete ? "ok" : "error", resultIn }, cut);
  });
}

/** @param report none where its launcher knows better how it ended: by a signal, or by an exception */
function retire(
  session: Session,
  outcome: Outcome,
  signal?: AbortSignal,
  report?: () => Promise<void>,
): Promise<void> {
  // Callers may pass a copy of the session, so we recognise it by its directories.
  const closing = closings.get(session.directories) ?? close(session, outcome, signal, report);
  closings.set(session.directories, closing);
  return closing;
}

async function close(
  session: Session,
  outcome: Outcome,
  signal: AbortSignal | undefined,
  report: (() => Promise<void>) | undefined,
): Promise<void> {
  const { registration, directories } = session;
  try {
    await report?.();
  } catch (error) {
    session.diagnose(`warning: session ${session.id} could not report its end: ${messageOf(error)}`);
  }
  if (registration) {
    const answer = await lastAnswer(session.clock, signal, (cut) => deregister(registration, outcome, cut));
    if (answer.kind !== "granted") {
      const sentence = refusalSentence(answer, registration.client.url);
      session.diagnose(`warning: session ${session.id} could not deregister: ${sentence}`);
    }
  }
  const removed = await directories.removeRuntime();
  if (!removed.ok) session.diagnose(`warning: ${removed.fault}`);
  directories.close();
  takeOverSignals(directories);
}
