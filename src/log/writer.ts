/**
 * Writes to a standard stream without ever blocking the event loop, whatever the stream is: a terminal that nobody reads,
 * a full pipe, a full disk, a reader that went away.
 *
 * We must not make the stream non-blocking, because other processes share its open file description. And `poll` does not
 * help: it reports a terminal with room for one byte as writable, and a longer write then blocks.
 */

import { closeSync, constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { isSystemError } from "../os-error.ts";
import { sendAtOnce } from "../sys/descriptors.ts";

/** The result of one attempt to write. */
export type Attempt =
  /** The first `bytes` bytes were written. */
  | { readonly kind: "taken"; readonly bytes: number }
  /** Nothing was written now. A later attempt may succeed. */
  | { readonly kind: "full" }
  /** Nothing was written: the reader is gone, the disk is full, the descriptor is closed. */
  | { readonly kind: "failed" };

export interface Outlet {
  /** The most bytes to give one attempt. */
  readonly chunkBytes: number;
  /** Writes some of the bytes. One attempt at a time: a promise must settle before the next call. */
  readonly write: (bytes: Uint8Array) => Attempt | Promise<Attempt>;
}

/** PIPE_BUF: a pipe takes this much whole or not at all, so the lines of several writers do not mix. */
const PIPE_CHUNK_BYTES = process.platform === "darwin" ? 512 : 4096;
/** A file takes any size. Each write has a fixed cost, so fewer and larger writes are cheaper. */
const FILE_CHUNK_BYTES = 64 * 1024;

const FULL: Attempt = { kind: "full" };
const FAILED: Attempt = { kind: "failed" };

/** Chooses how to write to a descriptor, by what it is: a file, a socket or a stream. */
export function openOutlet(fd: number): Outlet {
  const kind = kindOf(fd);
  switch (kind) {
    case "file":
      // A disk may be slow, but does not block for ever.
      return { chunkBytes: FILE_CHUNK_BYTES, write: (bytes) => attempt(() => writeSync(fd, bytes)) };
    case "socket":
      return {
        chunkBytes: FILE_CHUNK_BYTES,
        write: (bytes) => sendTo(fd, bytes) ?? writeOnThread(fd, bytes),
      };
    case "stream": {
      const own = reopen(fd);
      return {
        chunkBytes: PIPE_CHUNK_BYTES,
        write: (bytes) =>
          own === undefined ? writeOnThread(fd, bytes) : attempt(() => writeSync(own, bytes)),
      };
    }
    default:
      return kind satisfies never;
  }
}

/** A stream is a pipe, a terminal or another device. */
function kindOf(fd: number): "file" | "socket" | "stream" {
  try {
    const stat = fstatSync(fd);
    if (stat.isSocket()) return "socket";
    return stat.isFile() ? "file" : "stream";
  } catch {
    // A closed descriptor: each write will fail and report it.
    return "file";
  }
}

const { O_APPEND, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Opens the descriptor's file again, non-blocking and for this process alone. Linux only. `undefined` if that is not
 * allowed: the terminal or pipe belongs to another user, as after `su`.
 */
function reopen(fd: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  let own: number | undefined;
  try {
    own = openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_APPEND);
    const [one, other] = [fstatSync(fd), fstatSync(own)];
    if (one.ino === other.ino && one.dev === other.dev) return own;
  } catch {}
  if (own !== undefined) closeSync(own);
  return undefined;
}

function attempt(write: () => number): Attempt {
  try {
    return { kind: "taken", bytes: write() };
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): Attempt {
  return isSystemError(error) ? refused(error.code) : FAILED;
}

function refused(code: string): Attempt {
  return code === "EAGAIN" || code === "EINTR" ? FULL : FAILED;
}

function sendTo(fd: number, bytes: Uint8Array): Attempt | undefined {
  const sent = sendAtOnce(fd, bytes);
  if (sent.ok) return { kind: "taken", bytes: sent.value };
  return sent.fault === "ENOSYS" ? undefined : refused(sent.fault);
}

/** The last resort: a thread of the runtime blocks in the write, and the event loop goes on. */
function writeOnThread(fd: number, bytes: Uint8Array): Promise<Attempt> {
  // A copy, because the caller may reuse its buffer meanwhile.
  const chunk = Buffer.from(bytes.subarray(0, PIPE_CHUNK_BYTES));
  return new Promise((resolve) => {
    write(fd, chunk, 0, chunk.length, null, (error, written) => {
      resolve(error ? faultOf(error) : { kind: "taken", bytes: written });
    });
  });
}
