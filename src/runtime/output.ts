/**
 * Where a runtime writes: its own standard streams, or a test's replacement for them, and lines for its operator. No
 * write ever blocks the process, not even to a terminal that nobody reads or to a full pipe.
 */

import { type Attempt, type Outlet, openOutlet } from "../log/writer.ts";
import { printable } from "../printable.ts";
import { close } from "../sys/descriptors.ts";
import type { HeldLifeline } from "./contract/lifeline.ts";
import { redactSaid } from "./redaction.ts";
import { appendLine } from "./tree/files.ts";
import { ensureDirectoryAt, type HeldDirectory } from "./tree/held.ts";

export interface Output {
  /**
   * Settles when the bytes are taken, so that a slow reader slows its writers down and memory does not fill up. Never
   * rejects.
   */
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
}

/** One for each stream of this process, so that output from several writers stays in order. */
const streams = new Map<number, Stream>();

/** The streams of this process. It is no failure if a reader goes away: the rest is thrown away. */
export function processOutput(): Output {
  return { stdout: writerOf(1), stderr: writerOf(2) };
}

function writerOf(fd: number): (bytes: Uint8Array) => Promise<void> {
  let stream = streams.get(fd);
  if (!stream) {
    stream = new Stream(openOutlet(fd));
    streams.set(fd, stream);
  }
  return stream.write;
}

/** How long to wait before trying a full stream again. The wait then doubles each time. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

interface Pending {
  rest: Uint8Array;
  readonly taken: () => void;
}

class Stream {
  readonly #outlet: Outlet;
  readonly #pending: Pending[] = [];
  #isWaiting = false;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  readonly write = (bytes: Uint8Array): Promise<void> =>
    new Promise((taken) => {
      this.#pending.push({ rest: bytes, taken });
      if (!this.#isWaiting) this.#pump();
    });

  #pump(): void {
    for (let next = this.#pending[0]; next; next = this.#pending[0]) {
      const attempt = this.#outlet.write(next.rest.subarray(0, this.#outlet.chunkBytes));
      if (attempt instanceof Promise) {
        this.#isWaiting = true;
        void attempt.then((settled) => {
          this.#isWaiting = false;
          if (this.#settle(settled)) this.#pump();
        });
        return;
      }
      if (!this.#settle(attempt)) return;
    }
  }

  /** Whether to continue at once. */
  #settle(attempt: Attempt): boolean {
    const [next] = this.#pending;
    switch (attempt.kind) {
      case "full":
        this.#isWaiting = true;
        setTimeout(() => {
          this.#isWaiting = false;
          this.#pump();
        }, this.#pauseMs);
        this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
        return false;
      case "taken":
        this.#pauseMs = FIRST_PAUSE_MS;
        if (next) next.rest = next.rest.subarray(attempt.bytes);
        break;
      case "failed":
        if (next) next.rest = next.rest.subarray(next.rest.length);
        break;
      default:
        attempt satisfies never;
    }
    if (next?.rest.length === 0) {
      this.#pending.shift();
      next.taken();
    }
    return true;
  }
}

/** Writes one line, with the daemon's tokens taken out and invisible characters escaped. Never throws or waits. */
export type Diagnose = (line: string) => void;

/** The embedding program's function may fail. We ignore that, because there is nowhere else to report it. */
function say({ stderr }: Output, bytes: Uint8Array): void {
  try {
    stderr(bytes).catch(() => {});
  } catch {}
}

/**
 * A delegated child's standard error is a pipe to its parent. Once the parent is gone, lines go to
 * `logs/bootstrap.log` in the child's records directory (API page, "A child ends with its parent").
 */
export function createDiagnostics(
  output: Output,
  records: Pick<HeldDirectory, "descriptor">,
  lifeline: Pick<HeldLifeline, "ended"> | undefined,
): Diagnose {
  let read = true;
  void lifeline?.ended.then(() => {
    read = false;
  });
  return (line) => {
    const bytes = Buffer.from(`${printable(redactSaid(line.replaceAll("\n", " "), []))}\n`);
    if (read) return say(output, bytes);
    // If the log cannot be written either, there is nowhere left to report it.
    const logs = ensureDirectoryAt(records.descriptor, "logs");
    if (!logs.ok) return;
    appendLine(logs.value, "bootstrap.log", bytes);
    close(logs.value);
  };
}
