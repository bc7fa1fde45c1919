/**
 * One child process. Its three pipes are served for its whole life, its exit is awaited, and the launcher can end it.
 */

import { messageOf } from "../../os-error.ts";
import { fault, ok, type Result } from "../../result.ts";
import { write } from "../../sys/content.ts";
import { close, type Descriptor, openPipe, writable } from "../../sys/descriptors.ts";
import { describeError, type Posix } from "../../sys/library.ts";
import { keepExitStatuses } from "../../sys/process.ts";
import { type SpawnPlan, spawnProcess } from "../../sys/spawn.ts";
import { type Clock, unlessAborted, within } from "../clock.ts";
import { tokensIn } from "../contract/readiness.ts";
import { type Output, unbroken } from "../output.ts";
import type { Secret } from "../secret.ts";
import { createStderrEcho, createStdoutRelay, type FirstLine } from "./child-output.ts";
import { type HeldProcess, holdProcess, lookSoon } from "./held-process.ts";

export interface ChildProcess extends HeldProcess {
  readonly firstLine: Promise<FirstLine>;
  /** Begins to echo its standard error and copy its standard output, with these tokens redacted too. */
  share(secrets: readonly Secret[]): void;
  /**
   * Throws away what it still writes to its standard output. Echoes its standard error once its first line is known, with
   * the token that the line names redacted too.
   */
  quieten(): void;
  /** The last lines of its standard error, at most 20. Waits up to 5 s for the end of the pipe. */
  lastStderrLines(): Promise<string[]>;
}

export interface StartPlan {
  /** The program, by an absolute path, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The directory that it starts in, held open. */
  readonly workdir: Descriptor;
  readonly environment: SpawnPlan["environment"];
  /** Becomes the child's descriptor 3. */
  readonly lifeline: Descriptor;
  /** The one line of its standard input. */
  readonly approval: Secret;
  readonly output: Output;
  readonly clock: Clock;
  /** Writes one line for the operator. */
  readonly diagnose: (line: string) => void;
}

/** The number of `lifeline` in the child: the first one after the standard streams. */
export const CHILD_LIFELINE = 3;
/** How long a pipe is waited for after the process is gone. A program that it started may still hold the pipe open. */
const PIPE_END_MS = 5_000;

/** Starts the process and hands it its approval. The fault is the system's reason. */
export function startProcess(plan: StartPlan): Result<ChildProcess, string> {
  const pipes = openPipes();
  if (!pipes.ok) return fault(`no pipe for its standard streams: ${describeError(pipes.fault)}`);
  const [input, output, errors] = pipes.value;
  const theirs = [input.readEnd, output.writeEnd, errors.writeEnd];
  const ours = [output.readEnd, errors.readEnd];
  const closeTheirs = () => {
    for (const descriptor of theirs.splice(0)) close(descriptor);
  };
  let started: Posix<number> | undefined;
  try {
    keepExitStatuses();
    started = spawnProcess({
      program: plan.command[0],
      argv: plan.command,
      environment: plan.environment,
      directory: plan.workdir,
      descriptors: [...theirs, plan.lifeline],
    });
    if (!started.ok) return fault(describeError(started.fault));
    // Now, so that the readers of its output find free descriptors.
    closeTheirs();
    return ok(serveProcess(started.value, plan, ours));
  } finally {
    closeTheirs();
    for (const descriptor of ours) close(descriptor);
    if (started?.ok) feedLine(input.writeEnd, `${plan.approval.reveal()}\n`);
    else close(input.writeEnd);
  }
}

type Pipe = { readonly readEnd: Descriptor; readonly writeEnd: Descriptor };

/** Real pipes, because a child may open `/dev/stdout` by name, which fails on a socket. */
function openPipes(): Posix<readonly [Pipe, Pipe, Pipe]> {
  const opened: Pipe[] = [];
  for (let count = 0; count < 3; count++) {
    const pipe = openPipe();
    if (!pipe.ok) {
      for (const { readEnd, writeEnd } of opened) for (const end of [readEnd, writeEnd]) close(end);
      return pipe;
    }
    opened.push(pipe.value);
  }
  const [input, output, errors] = opened;
  return input && output && errors ? ok([input, output, errors]) : fault("EUNKNOWN");
}

/** How many bytes a writable pipe takes without waiting, on every platform (`PIPE_BUF`). */
const PORTION_BYTES = 512;
const PAUSE_MS = 20;

/**
 * Writes `text` to the pipe and closes it. This is usually done at once, because a new pipe has room for more than a
 * line. What does not fit waits until the child reads. If the child is already gone, its exit tells that.
 */
export function feedLine(pipe: Descriptor, text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  const feed = () => {
    while (rest.length > 0) {
      if (!writable(pipe)) return void setTimeout(feed, PAUSE_MS);
      const written = write(pipe, rest.subarray(0, PORTION_BYTES));
      if (!written.ok) break;
      rest = rest.subarray(written.value);
    }
    close(pipe);
  };
  feed();
}

function serveProcess(pid: number, plan: StartPlan, [output = -1, errors = -1]: Descriptor[]): ChildProcess {
  const held = holdProcess(pid, plan.clock, plan.diagnose);
  const stdout = createStdoutRelay(unbroken(plan.output.stdout));
  const stderr = createStderrEcho([plan.approval], unbroken(plan.output.stderr));
  const gone = new AbortController();
  void held.gone.then(() => gone.abort());
  const reads = { gone: gone.signal, clock: plan.clock, diagnose: plan.diagnose };
  void serve(output, stdout, reads);
  // A reader that is slow slows the child down, but does not keep its last lines from being read and remembered.
  const remember = (echoed: Promise<void>) => unlessAborted(gone.signal, echoed);
  const errorsEnded = serve(
    errors,
    { write: (chunk) => remember(stderr.write(chunk)), end: () => remember(stderr.end()) },
    reads,
  );
  return {
    ...held,
    firstLine: stdout.firstLine,
    share(secrets) {
      void stderr.release(secrets);
      stdout.copy([plan.approval, ...secrets]);
    },
    quieten() {
      stdout.discard();
      void stdout.firstLine.then((line) => stderr.release(line.kind === "line" ? tokensIn(line.text) : []));
    },
    async lastStderrLines() {
      // Until the first line is known, the child's own token is not.
      await within(plan.clock, PIPE_END_MS, Promise.all([errorsEnded, stdout.firstLine]));
      return stderr.lastLines();
    },
  };
}

interface Reads {
  /** Aborts once the process is gone. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
  readonly diagnose: StartPlan["diagnose"];
}

/** Reads a pipe to its end, as fast as `into` takes the bytes. */
async function serve(
  pipe: Descriptor,
  into: { write(chunk: Uint8Array): Promise<unknown>; end(): Promise<unknown> },
  reads: Reads,
): Promise<void> {
  try {
    const read = createReads(pipe, reads);
    for (let chunk = await read(); !chunk.done; chunk = await read()) await into.write(chunk.value);
  } catch (error) {
    // It counts as ended.
    reads.diagnose(`warning: a child's output could not be read: ${messageOf(error)}`);
  }
  // A process usually closes its streams by exiting.
  lookSoon();
  await into.end();
}

/**
 * Reads that give up once they have waited 5 s in all after the process was gone: another process may hold the pipe's
 * other end. The time between two reads does not count, because what the process wrote may still be in the pipe.
 *
 * The stream gets a descriptor of its own once its reader exists, so the caller must close the pipe's. The wait uses the
 * event loop, not a thread.
 */
function createReads(pipe: Descriptor, { gone, clock }: Reads) {
  const reader = Bun.file(pipe).stream().getReader();
  let leftMs = PIPE_END_MS;
  return async () => {
    let since: number | undefined;
    let stop = () => {};
    const giveUpLater = () => {
      since = clock.elapsed();
      stop = clock.after(leftMs, () => void reader.cancel().catch(() => {}));
    };
    if (gone.aborted) giveUpLater();
    else gone.addEventListener("abort", giveUpLater);
    try {
      return await reader.read();
    } finally {
      stop();
      gone.removeEventListener("abort", giveUpLater);
      if (since !== undefined) leftMs = Math.max(0, leftMs - (clock.elapsed() - since));
    }
  };
}
