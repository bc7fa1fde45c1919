/**
 * Where a runtime writes: its own standard streams, or a test's replacement for them, and lines for its operator. No
 * write ever blocks the process, not even to a terminal that nobody reads or to a full pipe.
 */

import { type Outlet, openOutlet } from "../log/writer.ts";
import { printable } from "../printable.ts";
import { close } from "../sys/descriptors.ts";
import type { HeldLifeline } from "./contract/lifeline.ts";
import { redactSaid } from "./redaction.ts";
import { appendLine } from "./tree/files.ts";
import { ensureDirectoryAt, type HeldDirectory } from "./tree/held.ts";

/** Where a runtime writes: the streams of its process, or an embedding program's replacement for them. */
export interface Output {
  /**
   * Settles when the bytes are taken, so that a slow reader slows its writers down and memory does not fill up. Never
   * rejects.
   */
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
}

/** What the output of a session's children depends on. */
interface Announcing {
  readonly output: Output;
  /** `isDue`: a parent waits for the session's readiness line. */
  readonly readiness: { readonly isDue: boolean };
}

/**
 * Where a session's children write, through it. A parent takes the first line of a delegated session for its readiness line,
 * which a script prints last. Until then, what its children print goes to standard error: it must not be taken for that
 * line, and a child must not wait to be read.
 */
export function childOutput({ output: { stdout, stderr }, readiness }: Announcing): Output {
  return { stdout: (bytes) => (readiness.isDue ? stderr : stdout)(bytes), stderr };
}

/** Settles when the bytes are taken. */
type Write = (bytes: Uint8Array) => Promise<void>;

/** One for each stream of this process, so that output from several writers stays in order. */
const streams = new Map<number, Write>();

/** The streams of this process. It is no failure if a reader goes away: the rest is thrown away. */
export function processOutput(): Output {
  return { stdout: writerOf(1), stderr: writerOf(2) };
}

function writerOf(fd: number): Write {
  const write = streams.get(fd) ?? createWriter(openOutlet(fd));
  streams.set(fd, write);
  return write;
}

/** How long to wait before trying a full stream again. The wait then doubles each time. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

function createWriter(outlet: Outlet): Write {
  const pending: { rest: Uint8Array; readonly taken: () => void }[] = [];
  let isWriting = false;
  let pauseMs = FIRST_PAUSE_MS;

  const writeAll = async () => {
    isWriting = true;
    for (let next = pending[0]; next; next = pending[0]) {
      const written = outlet.write(next.rest.subarray(0, outlet.chunkBytes));
      // What the stream takes at once is written at once, even if this process ends directly after.
      const attempt = written instanceof Promise ? await written : written;
      switch (attempt.kind) {
        case "full":
          await Bun.sleep(pauseMs);
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
          continue;
        case "taken":
          pauseMs = FIRST_PAUSE_MS;
          next.rest = next.rest.subarray(attempt.bytes);
          break;
        case "failed":
          next.rest = next.rest.subarray(next.rest.length);
          break;
        default:
          attempt satisfies never;
      }
      if (next.rest.length > 0) continue;
      pending.shift();
      next.taken();
    }
    isWriting = false;
  };

  return (bytes) =>
    new Promise((taken) => {
      pending.push({ rest: bytes, taken });
      if (!isWriting) void writeAll();
    });
}

/** The function comes from the embedding program. If it fails, there is nowhere left to report it. */
export function unbroken(write: Write): Write {
  return async (bytes) => {
    try {
      await write(bytes);
    } catch {}
  };
}

/** Writes one line, with the daemon's tokens taken out and invisible characters escaped. Never throws or waits. */
export type Diagnose = (line: string) => void;

/**
 * A delegated child's standard error is a pipe to its parent. Once the parent is gone, lines go to
 * `logs/bootstrap.log` in the child's records directory (API page, "A child ends with its parent").
 */
export function createDiagnostics(
  output: Output,
  records: Pick<HeldDirectory, "descriptor">,
  lifeline: Pick<HeldLifeline, "ended"> | undefined,
): Diagnose {
  const say = unbroken(output.stderr);
  let read = true;
  void lifeline?.ended.then(() => {
    read = false;
  });
  return (line) => {
    const bytes = Buffer.from(`${printable(redactSaid(line.replaceAll("\n", " "), []))}\n`);
    if (read) return void say(bytes);
    // If the log cannot be written either, there is nowhere left to report it.
    const logs = ensureDirectoryAt(records.descriptor, "logs");
    if (!logs.ok) return;
    try {
      appendLine(logs.value, "bootstrap.log", bytes);
    } finally {
      close(logs.value);
    }
  };
}
