/** One child process: its three pipes served for its whole life, its exit awaited, its end in the launcher's hands. */

import { constants } from "node:os";
import type { Subprocess } from "bun";
import type { Clock } from "../clock.ts";
import { within } from "../clock.ts";
import type { Output } from "../output.ts";
import { fault, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { createStderrEcho } from "./stderr-echo.ts";
import { createStdoutRelay, type FirstLine } from "./stdout-relay.ts";

/** How a process ended. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "signaled"; readonly signal: string; readonly number: number };

export interface ChildProcess {
  readonly pid: number;
  /** Settles when the process has been reaped, whoever still holds its pipes. */
  readonly exited: Promise<ExitStatus>;
  readonly firstLine: Promise<FirstLine>;
  /** Begins to echo its standard error and copy its standard output, these tokens redacted too. */
  share(secrets: readonly Secret[]): void;
  /** Throws away what it still writes to its standard output, and echoes its standard error. */
  quieten(): void;
  /** To the process held here; nothing where it has been reaped. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
  /** The last lines of its standard error, at most 20: waits for the end of the pipe, 5 s at most. */
  lastStderrLines(): Promise<string[]>;
}

export interface StartPlan {
  readonly command: readonly string[];
  readonly workdir: string;
  readonly environment: Record<string, string>;
  /** Becomes descriptor 3 of the child. */
  readonly lifeline: number;
  /** The one line of its standard input. */
  readonly approval: Secret;
  readonly output: Output;
  readonly clock: Clock;
}

/** The number that `lifeline` has in the child: the first one after the standard streams. */
export const CHILD_LIFELINE = 3;
/** How long a pipe is waited for once the process is gone: something it started may hold it open. */
const PIPE_END_MS = 5_000;

/** Starts the process and hands it its approval; the fault is the system's reason. */
export function startProcess(plan: StartPlan): Result<ChildProcess, string> {
  let process: Subprocess<"pipe", "pipe", "pipe">;
  try {
    process = Bun.spawn([...plan.command], {
      cwd: plan.workdir,
      env: plan.environment,
      stdio: ["pipe", "pipe", "pipe", plan.lifeline],
    });
  } catch (error) {
    return fault(error instanceof Error ? error.message : "the system gave no reason");
  }
  void handApproval(process, plan.approval);
  const stdout = createStdoutRelay(plan.output.stdout);
  const stderr = createStderrEcho([plan.approval], plan.output.stderr);
  const exited = process.exited.then(() => exitStatus(process));
  const served = [serve(process.stdout, stdout, exited, plan), serve(process.stderr, stderr, exited, plan)];
  return ok({
    pid: process.pid,
    exited,
    firstLine: stdout.firstLine,
    share(secrets) {
      void stderr.release(secrets);
      stdout.copy([plan.approval, ...secrets]);
    },
    quieten() {
      void stderr.release([]);
      stdout.discard();
    },
    signal(signal) {
      // A child that runs as somebody else by now is not ours to signal: that must not keep the others from theirs.
      try {
        process.kill(signal);
      } catch {}
    },
    async lastStderrLines() {
      await within(plan.clock, PIPE_END_MS, served[1] ?? Promise.resolve());
      return stderr.lastLines();
    },
  });
}

/** One line, then the end of the input. A child that is gone already says so by its exit. */
async function handApproval(process: Subprocess<"pipe", "pipe", "pipe">, approval: Secret): Promise<void> {
  try {
    process.stdin.write(`${approval.reveal()}\n`);
    await process.stdin.end();
  } catch {}
}

interface PipeReader {
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

/** Reads a pipe to its end, or until a while after the exit: then it is given up, whoever holds its other end. */
async function serve(
  pipe: ReadableStream<Uint8Array>,
  into: PipeReader,
  exited: Promise<unknown>,
  plan: StartPlan,
): Promise<void> {
  const reader = pipe.getReader();
  let stopGivingUp = () => {};
  exited.then(() => {
    stopGivingUp = plan.clock.after(PIPE_END_MS, () => void reader.cancel().catch(() => {}));
  });
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      await into.write(chunk.value);
    }
  } catch {
    // A pipe that fails has ended.
  }
  await into.end();
  await exited;
  stopGivingUp();
}

function exitStatus(process: Subprocess): ExitStatus {
  const signal = process.signalCode;
  if (signal === null) return { kind: "exited", status: process.exitCode ?? 0 };
  // A real-time signal has no name.
  if (typeof signal === "number") return { kind: "signaled", signal: `SIG${signal}`, number: signal };
  return { kind: "signaled", signal, number: constants.signals[signal] };
}

/** `exit status: 1`, `signal: 9 (SIGKILL)`. */
export function describeExit(status: ExitStatus): string {
  return status.kind === "exited"
    ? `exit status: ${status.status}`
    : `signal: ${status.number} (${status.signal})`;
}
