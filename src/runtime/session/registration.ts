/**
 * Registers a session with the daemon, if it needs to be registered. A delegated child presents the approval that it was
 * launched with: the only line of its standard input.
 */

import type { Outcome } from "../../api/schemas.ts";
import { printable } from "../../printable.ts";
import { fault, ok, type Result } from "../../result.ts";
import { createRoostClient, type RoostClient } from "../client.ts";
import { type Clock, unlessAborted, within } from "../clock.ts";
import type { RunArguments } from "../contract/arguments.ts";
import { type Environment, refuse, type StartRefusal } from "../contract/environment.ts";
import type { RuntimeManifest } from "../manifest.ts";
import { parseSecret, type Secret } from "../secret.ts";
import { parseRoostUrl } from "../wire.ts";

/** The result of registering: a client for the daemon, and the credential for its requests. */
export interface Registration {
  readonly client: RoostClient;
  readonly credential: Secret;
}

const retired = new WeakMap<Secret, ReturnType<RoostClient["deregister"]>>();

/**
 * Gives the slot at the daemon back, once: whoever asks again gets the daemon's first answer, and the first outcome counts.
 * Where no answer came, asking again sends another request.
 *
 * @param signal when it aborts, we wait for no answer
 */
export async function deregister(
  { client, credential }: Registration,
  outcome: Outcome,
  signal?: AbortSignal,
): ReturnType<RoostClient["deregister"]> {
  const answer = retired.get(credential) ?? client.deregister(outcome, credential, signal);
  retired.set(credential, answer);
  void answer.then(({ kind }) => {
    if (kind === "unreachable" && retired.get(credential) === answer) retired.delete(credential);
  });
  const answered = await unlessAborted(signal, answer);
  if (answered !== "aborted") return answered;
  return { kind: "unreachable", reason: "the request was given up" };
}

/** What registering needs from outside. */
interface From {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly input?: ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

/**
 * A session registers if it may spawn, or if it was launched with an approval: presenting the approval marks it as
 * spent. Any other session opens no connection.
 */
export async function registerWhereNeeded(
  id: string,
  run: RunArguments,
  manifest: RuntimeManifest,
  { environment, clock, input, signal }: From,
): Promise<Result<Registration | undefined, StartRefusal>> {
  let approval: Secret | undefined;
  if (run.grantOnStdin) {
    const grant = await readGrant(input ?? Bun.stdin.stream(), clock, signal);
    if (!grant.ok) return grant;
    approval = grant.value;
  }
  if (!approval && manifest.spawnAllow.length === 0) {
    if (!signal?.aborted) return ok(undefined);
    return fault({ message: `${run.name}@${run.version} was not started: the start was given up` });
  }
  const url = parseRoostUrl(environment.MURMUR_ROOST_URL);
  if (!url.ok) return notRegistered(run, url.fault);
  if (signal?.aborted) return notRegistered(run, "the start was given up");
  const client = createRoostClient(url.value, clock);
  const answer = await lastAnswer(clock, signal, (cut) =>
    client.register({ session_id: id, name: run.name, version: run.version }, approval, cut),
  );
  if (answer.kind === "granted") {
    if (!signal?.aborted) return ok({ client, credential: answer.value });
    await within(clock, LAST_ANSWER_MS, client.deregister("failed", answer.value));
    return notRegistered(run, "the start was given up");
  }
  const why = answer.kind === "refused" ? answer.error : answer.reason;
  return notRegistered(run, `mur-roost at ${url.value}: ${why}`);
}

/** How long the daemon's answer is waited for once nobody wants to wait. */
const LAST_ANSWER_MS = 2_000;

/**
 * After a cut, the answer is waited for a little longer: the daemon may hold a slot that only the credential in its answer
 * can give back.
 */
export async function lastAnswer<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  ask: (cut: AbortSignal) => Promise<T>,
): Promise<T> {
  const cut = new AbortController();
  let stop = () => {};
  const limit = () => {
    stop = clock.after(LAST_ANSWER_MS, () => cut.abort());
  };
  if (signal?.aborted) limit();
  else signal?.addEventListener("abort", limit);
  try {
    return await ask(cut.signal);
  } finally {
    signal?.removeEventListener("abort", limit);
    stop();
  }
}

function notRegistered(run: RunArguments, why: string): Result<never, StartRefusal> {
  return refuse("E-RUN-019", `${run.name}@${run.version} could not register: ${printable(why)}`);
}

/** The longest input that counts as an approval, in bytes. */
const MAX_INPUT = 16 * 1024;
/** How long to wait for it. A parent writes the line and closes the pipe before it waits for anything else. */
const INPUT_MS = 30_000;

/**
 * Reads the input to its end. The launch is refused unless the input is one line with one token: without the approval's
 * header, the daemon would think that the operator started this capsule.
 */
async function readGrant(
  input: ReadableStream<Uint8Array>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Result<Secret, StartRefusal>> {
  const read = await within(clock, INPUT_MS, unlessAborted(signal, readAll(input)));
  if (read === "late") return noGrant(`it did not end within ${INPUT_MS / 1000} s`);
  if (read.value === "aborted") return noGrant("it was given up before it had ended");
  if (read.value === undefined) return noGrant(`it is longer than ${MAX_INPUT} bytes`);
  const token = parseSecret(read.value.replace(/\n$/, ""));
  return token ? ok(token) : noGrant("it is not one line with one token");
}

function noGrant(why: string): Result<never, StartRefusal> {
  return refuse(
    "E-RUN-019",
    `--spawn-grant-stdin: no spawn approval on standard input: ${why}; leave the flag out to start this capsule on its own`,
  );
}

async function readAll(input: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = input.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    size += chunk.value.length;
    if (size > MAX_INPUT) {
      void reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(chunk.value);
  }
  return Buffer.concat(chunks).toString("latin1");
}
