/** One child process: its three pipes served for its whole life, its exit awaited, its end in the launcher's hands. */

import type { Clock } from "../clock.ts";
import { within } from "../clock.ts";
import type { Output } from "../output.ts";
import { openPipe } from "../posix/pipe.ts";
import { keepExitStatuses } from "../posix/signals.ts";
import { spawnProcess } from "../posix/spawn.ts";
import { close, type Descriptor, describeError, type Posix } from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { feedLine } from "./feed-line.ts";
import { type HeldProcess, holdProcess, lookSoon } from "./held-process.ts";
import { createStderrEcho } from "./stderr-echo.ts";
import { createStdoutRelay, type FirstLine } from "./stdout-relay.ts";

export interface ChildProcess extends HeldProcess {
  readonly firstLine: Promise<FirstLine>;
  /** Begins to echo its standard error and copy its standard output, these tokens redacted too. */
  share(secrets: readonly Secret[]): void;
  /** Throws away what it still writes to its standard output, and echoes its standard error. */
  quieten(): void;
  /** The last lines of its standard error, at most 20: waits for the end of the pipe, 5 s at most. */
  lastStderrLines(): Promise<string[]>;
}

export interface StartPlan {
  /** The program, by an absolute path, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The directory that it starts in, held. */
  readonly workdir: Descriptor;
  readonly environment: Record<string, string>;
  /** Becomes descriptor 3 of the child. */
  readonly lifeline: Descriptor;
  /** The one line of its standard input. */
  readonly approval: Secret;
  readonly output: Output;
  readonly clock: Clock;
  /** Says one line for the operator. */
  readonly diagnose: (line: string) => void;
}

/** The number that `lifeline` has in the child: the first one after the standard streams. */
export const CHILD_LIFELINE = 3;
/** How long a pipe is waited for once the process is gone: something it started may hold it open. */
const PIPE_END_MS = 5_000;

/** Starts the process and hands it its approval; the fault is the system's reason. */
export function startProcess(plan: StartPlan): Result<ChildProcess, string> {
  const pipes = openPipes();
  if (!pipes.ok) return fault(`no pipe for its standard streams: ${describeError(pipes.fault)}`);
  const [input, output, errors] = pipes.value;
  const theirs = [input.readEnd, output.writeEnd, errors.writeEnd];
  const ours = [output.readEnd, errors.readEnd];
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
    return ok(serveProcess(started.value, plan, ours));
  } finally {
    for (const descriptor of [...theirs, ...ours]) close(descriptor);
    if (started?.ok) feedLine(input.writeEnd, `${plan.approval.reveal()}\n`);
    else close(input.writeEnd);
  }
}

type Pipe = { readonly readEnd: Descriptor; readonly writeEnd: Descriptor };

/** Real pipes: a child may open `/dev/stdout` by its name, which it cannot where that is a socket. */
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

function serveProcess(pid: number, plan: StartPlan, [output = -1, errors = -1]: Descriptor[]): ChildProcess {
  const held = holdProcess(pid, plan.clock, plan.diagnose);
  const stdout = createStdoutRelay(unbroken(plan.output.stdout));
  const stderr = createStderrEcho([plan.approval], unbroken(plan.output.stderr));
  void serve(output, stdout, held, plan.clock);
  const errorsEnded = serve(errors, stderr, held, plan.clock);
  return {
    ...held,
    firstLine: stdout.firstLine,
    share(secrets) {
      void stderr.release(secrets);
      stdout.copy([plan.approval, ...secrets]);
    },
    quieten() {
      void stderr.release([]);
      stdout.discard();
    },
    async lastStderrLines() {
      await within(plan.clock, PIPE_END_MS, errorsEnded);
      return stderr.lastLines();
    },
  };
}

/** The function comes from the embedding program. If it fails, the pipe is still read. */
function unbroken(write: (bytes: Uint8Array) => Promise<void>): (bytes: Uint8Array) => Promise<void> {
  return async (bytes) => {
    try {
      await write(bytes);
    } catch {}
  };
}

interface PipeReader {
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

/**
 * Reads a pipe to its end, or until a while after the exit: then it is given up, whoever holds its other end. The stream
 * has a descriptor of its own from when its reader is there, so that the caller closes the pipe's. It waits with the event
 * loop, in no thread.
 */
async function serve(pipe: Descriptor, into: PipeReader, { gone }: HeldProcess, clock: Clock): Promise<void> {
  let ended = false;
  let stopGivingUp = () => {};
  try {
    const reader = Bun.file(pipe).stream().getReader();
    void gone.then(() => {
      if (!ended) stopGivingUp = clock.after(PIPE_END_MS, () => void reader.cancel().catch(() => {}));
    });
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      await into.write(chunk.value);
    }
  } catch {
    // A pipe that fails has ended.
  }
  ended = true;
  stopGivingUp();
  // A process closes its streams by its exit, as a rule.
  lookSoon();
  await into.end();
}
