/**
 * A capsule's session, from its runtime's side: read what the spawner said, register where that is needed, print the
 * readiness line, and retire at the end. A delegated child and a capsule started by hand open theirs the same way.
 */

import type { Outcome } from "../../api/schemas.ts";
import { printable } from "../../printable.ts";
import { type DoorUrl, parseRoostUrl } from "../addresses.ts";
import { createRoostClient, type RoostClient, refusalSentence } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { parseRunArguments, type RunArguments } from "../contract/arguments.ts";
import { type Environment, type FormationId, readFormationId } from "../contract/environment.ts";
import { checkFormationEnds } from "../contract/formation-ends.ts";
import { formatReadiness } from "../contract/readiness.ts";
import { parseSpawnerHandle, type SpawnerHandle } from "../contract/spawner-handle.ts";
import { createSessionDirectories, openHome, type SessionDirectories } from "../directories.ts";
import { newId } from "../identifiers.ts";
import { type HeldLifeline, holdLifeline } from "../lifeline/child.ts";
import { TEARDOWN_MS } from "../lifeline/follow.ts";
import { type ArtifactStore, artifactStore, type RuntimeManifest } from "../manifest.ts";
import { type Output, processOutput } from "../output.ts";
import { whyNoCalls } from "../posix/libc.ts";
import { keepExitStatuses } from "../posix/signals.ts";
import { fault, ok, type Result, type StartRefusal } from "../result.ts";
import type { Secret } from "../secret.ts";
import { type ChildSessions, createChildSessions } from "./child-sessions.ts";
import { type DelegateTask, delegateTaskOf } from "./delegate-task.ts";
import { createDiagnostics, type Diagnose } from "./diagnostics.ts";
import { readGrant } from "./grant.ts";

/** What a session takes from outside; whatever is left out is the process's own. */
export interface SessionOptions {
  /** The arguments after the program's name, read. */
  readonly run?: RunArguments;
  readonly environment?: Environment;
  readonly input?: ReadableStream<Uint8Array>;
  readonly output?: Output;
  readonly clock?: Clock;
  /** Aborted: the session is not opened. */
  readonly signal?: AbortSignal;
}

/** What registering brought: the daemon, and the credential to ask it with. */
export interface Registration {
  readonly client: RoostClient;
  readonly credential: Secret;
}

/** A capsule's own session, from its start to `closeSession`. */
export interface Session extends AsyncDisposable {
  readonly id: string;
  readonly run: RunArguments;
  /** Its own manifest, from its own store. */
  readonly manifest: RuntimeManifest;
  readonly store: ArtifactStore;
  readonly directories: SessionDirectories;
  /** Absent where nothing asks for one: no `capabilities.spawn.allow`, and no approval. */
  readonly registration: Registration | undefined;
  /** The tool to offer to its model; absent where `capabilities.spawn.allow` is empty: there is no tool then. */
  readonly delegateTask: DelegateTask | undefined;
  /** The ids that its children go by. */
  readonly childSessions: ChildSessions;
  /** Who started it, where a parent did. */
  readonly spawner: SpawnerHandle | undefined;
  readonly lifeline: HeldLifeline | undefined;
  /**
   * Aborted once this process was sent SIGTERM and holds a lifeline: its spawner's SIGKILL comes after 5 s, and the ends of
   * its own children take 3 (`endAll`).
   */
  readonly hurry: AbortController;
  readonly formationId: FormationId | undefined;
  readonly environment: Environment;
  readonly output: Output;
  readonly clock: Clock;
  /** Says one line to whoever watches this session. */
  readonly diagnose: Diagnose;
  /** Closes it as `failed` unless `closeSession` was called: `await using session = opened.value`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A session that the daemon answers. */
export type RegisteredSession = Session & { readonly registration: Registration };

export function isRegistered(session: Session): session is RegisteredSession {
  return session.registration !== undefined;
}

/** A session that may have children: its manifest lists some. */
export type DelegatingSession = RegisteredSession & { readonly delegateTask: DelegateTask };

/** Whether the session may have children: it is registered, and its manifest lists some. */
export function canDelegate(session: Session): session is DelegatingSession {
  return isRegistered(session) && session.delegateTask !== undefined;
}

/**
 * Opens the session: what can refuse the launch comes first, then it registers, then its directories are made. Call it once
 * in a process, before anything else is started. From then on a child ends 20 s after its spawner at the latest, with status
 * 143, whatever its main thread does; `endWithSpawner` says what it does until then.
 *
 * @returns the session, or why this capsule does not start
 */
export async function openSession(options: SessionOptions = {}): Promise<Result<Session, StartRefusal>> {
  const noCalls = whyNoCalls();
  if (noCalls !== undefined) return fault({ message: withoutCalls(noCalls) });
  keepExitStatuses();
  const environment = options.environment ?? process.env;
  const clock = options.clock ?? systemClock;
  const output = options.output ?? processOutput();
  const read = options.run ? ok(options.run) : parseRunArguments(process.argv.slice(2));
  if (!read.ok) return fault({ message: read.fault });
  const run = read.value;

  const formationId = readFormationId(environment);
  if (!formationId.ok) return formationId;
  const ends = checkFormationEnds(environment, formationId.value);
  if (!ends.ok) return ends;
  const spawner = parseSpawnerHandle(environment.MURMUR_SPAWNER);
  if (!spawner.ok) return spawner;
  const lifeline = holdLifeline(environment);
  if (!lifeline.ok) return lifeline;
  lifeline.value?.exitAfter(TEARDOWN_MS);
  const home = openHome(environment.HOME);
  if (!home.ok) return fault({ message: home.fault });
  home.value.close();
  const store = artifactStore(home.value.path);
  const packed = await store.resolve(run);
  if (!packed.ok) return fault({ code: "E-MAN-003", message: printable(packed.fault) });
  const { manifest } = packed.value;

  const id = newId("ses");
  const registered = await registerWhereNeeded(id, run, manifest, { ...options, environment, clock });
  if (!registered.ok) return registered;
  const registration = registered.value;
  const directories = createSessionDirectories({
    home: environment.HOME,
    workdir: run.workdir,
    sessionId: id,
  });
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
    childSessions: createChildSessions(id, spawner.value?.sessionId),
    spawner: spawner.value,
    lifeline: lifeline.value,
    hurry: new AbortController(),
    formationId: formationId.value,
    environment,
    output,
    clock,
    diagnose: createDiagnostics(output, directories.value.records, lifeline.value),
    [Symbol.asyncDispose]: () => closeSession(session, "failed"),
  };
  return ok(session);
}

function withoutCalls(why: string): string {
  return `this process may not call the C library (${why}), which its children and its lifeline need; start it where a program may run memory that it has written`;
}

/**
 * Who registers: a session that may spawn, and one that was launched with an approval, which presenting it marks as
 * spent. Nobody else opens a connection.
 */
async function registerWhereNeeded(
  id: string,
  run: RunArguments,
  manifest: RuntimeManifest,
  from: SessionOptions & { readonly environment: Environment; readonly clock: Clock },
): Promise<Result<Registration | undefined, StartRefusal>> {
  const { environment, clock, input, signal } = from;
  let approval: Secret | undefined;
  if (run.grantOnStdin) {
    const grant = await readGrant(input ?? Bun.stdin.stream(), clock, signal);
    if (!grant.ok) return grant;
    approval = grant.value;
  }
  if (!approval && manifest.spawnAllow.length === 0) return ok(undefined);
  const url = parseRoostUrl(environment.MURMUR_ROOST_URL);
  if (!url.ok) return fault(notRegistered(run, url.fault));
  const client = createRoostClient(url.value, clock);
  const answer = await client.register(
    { session_id: id, name: run.name, version: run.version },
    approval,
    signal,
  );
  if (answer.kind === "granted") return ok({ client, credential: answer.value });
  const why = answer.kind === "refused" ? answer.error : answer.reason;
  return fault(notRegistered(run, `mur-roost at ${url.value}: ${why}`));
}

function notRegistered(run: RunArguments, why: string): StartRefusal {
  return { code: "E-RUN-019", message: `${run.name}@${run.version} could not register: ${printable(why)}` };
}

/**
 * Tells whoever started this process that the session is ready: the one line on standard output that a parent waits
 * for. A capsule that serves no A2A gives no door, and says so when its run has finished.
 */
export async function announceReady(session: Session, door?: DoorUrl, operatorToken?: Secret): Promise<void> {
  const { run, directories } = session;
  const line = formatReadiness({
    sessionId: session.id,
    name: run.name,
    version: run.version,
    workdir: directories.workdir.path,
    recordsDirectory: directories.records.path,
    ...(door && { door }),
    ...(operatorToken && run.readinessTokens && { operatorToken }),
    ...(session.formationId && { formationId: session.formationId }),
  });
  await session.output.stdout(Buffer.from(`${line}\n`));
}

const closings = new WeakMap<SessionDirectories, Promise<void>>();

/**
 * Retires the session: deregisters it and removes its runtime directory; its records stay. A daemon that does not
 * answer is one line of warning, and changes nothing. A second call returns the first closing: the first outcome counts.
 *
 * @param signal aborted: the daemon's answer is not waited for
 */
export function closeSession(session: Session, outcome: Outcome, signal?: AbortSignal): Promise<void> {
  // A session may be lent as a copy: what is closed once is its directories.
  const { directories } = session;
  const closing = closings.get(directories) ?? close(session, outcome, signal);
  closings.set(directories, closing);
  return closing;
}

async function close(session: Session, outcome: Outcome, signal: AbortSignal | undefined): Promise<void> {
  const { registration } = session;
  if (registration) {
    const answer = await registration.client.deregister(outcome, registration.credential, signal);
    if (answer.kind !== "granted") {
      const sentence = refusalSentence(answer, registration.client.url);
      session.diagnose(`warning: session ${session.id} could not deregister: ${sentence}`);
    }
  }
  const removed = await session.directories.removeRuntime();
  if (!removed.ok) session.diagnose(`warning: ${removed.fault}`);
  session.directories.close();
}
