/**
 * Writing to a standard stream without ever holding up the event loop, whatever it leads to: a terminal that nobody
 * reads, a pipe that is full, a full disk, a reader that went away.
 *
 * The stream's open file description is shared with other processes, so its flags are not ours to change. And asking
 * first does not help: `poll` calls a terminal writable that has room for one byte, and a longer write then waits.
 */

import { closeSync, constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { isSystemError } from "../os-error.ts";
import { sendAtOnce } from "../sys/socket.ts";

/** What became of one attempt to write. */
export type Attempt =
  /** So many bytes were taken, counted from the first. */
  | { readonly kind: "taken"; readonly bytes: number }
  /** None now, and more later. */
  | { readonly kind: "full" }
  /** None: the reader is gone, the disk is full, the descriptor is closed. */
  | { readonly kind: "failed" };

export interface Outlet {
  /** The most that one attempt should be given. */
  readonly chunkBytes: number;
  /** Takes some of the bytes. One attempt at a time: where it comes as a promise, that settles first. */
  readonly write: (bytes: Uint8Array) => Attempt | Promise<Attempt>;
}

/** What a pipe takes whole or not at all (PIPE_BUF), so that the lines of several writers do not mix. */
const PIPE_CHUNK_BYTES = process.platform === "darwin" ? 512 : 4096;
/** A file takes what it is given; each write has its price, whatever its size. */
const FILE_CHUNK_BYTES = 64 * 1024;

const FULL: Attempt = { kind: "full" };
const FAILED: Attempt = { kind: "failed" };
const { EAGAIN, EINTR } = systemConstants.errno;

/** The way to write to a descriptor that suits what it is. Looked at once: what it is does not change. */
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
    // A closed descriptor: each write says so.
    return "file";
  }
}

const { O_APPEND, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Opens what the descriptor holds once more, for this process alone and never waiting. Linux. `undefined` where that is
 * not allowed: a terminal or a pipe of another user's, as after `su`.
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
  return isSystemError(error) ? numbered(Math.abs(error.errno)) : FAILED;
}

function numbered(errno: number): Attempt {
  return errno === EAGAIN || errno === EINTR ? FULL : FAILED;
}

function sendTo(fd: number, bytes: Uint8Array): Attempt | undefined {
  const sent = sendAtOnce(fd, bytes);
  if (sent === undefined) return undefined;
  return sent < 0 ? numbered(-sent) : { kind: "taken", bytes: sent };
}

/** The last way: a thread of the runtime's own waits in the write, and nobody else does. */
function writeOnThread(fd: number, bytes: Uint8Array): Promise<Attempt> {
  // A copy: whoever calls may use the room again for what comes next.
  const chunk = Buffer.from(bytes.subarray(0, PIPE_CHUNK_BYTES));
  return new Promise((resolve) => {
    write(fd, chunk, 0, chunk.length, null, (error, written) => {
      resolve(error ? faultOf(error) : { kind: "taken", bytes: written });
    });
  });
}
