/** Open descriptors: how one may be used, which programs inherit it, pipes, and what can be done without waiting. */

import { ok } from "../result.ts";
import {
  ARM64,
  callsOf,
  done,
  linuxCallsOf,
  MACOS,
  macosCallsOf,
  number,
  type Posix,
  SIZE,
} from "./library.ts";

/** The number of an open file. */
export type Descriptor = number;

const libc = callsOf({
  close: { args: ["i32"], returns: "i32" },
  ioctl: { args: ["i32", SIZE, "i32"], returns: "i32" },
  fcntl: { args: ["i32", "i32"], returns: "i32" },
});
const macosPipe = macosCallsOf({ pipe: { args: ["ptr"], returns: "i32" } });
const linuxPipe = linuxCallsOf({ pipe2: { args: ["ptr", "i32"], returns: "i32" } });
const waiting = callsOf({ poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });
const sending = linuxCallsOf({ send: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" } });
const epoll = linuxCallsOf({
  epoll_create1: { args: ["i32"], returns: "i32" },
  epoll_ctl: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  epoll_wait: { args: ["i32", "ptr", "i32", "i32"], returns: "i32" },
});

/** The flags for opening a file. Linux on arm64 numbers two of them differently. */
export const O = {
  RDONLY: 0,
  WRONLY: 1,
  RDWR: 2,
  ACCMODE: 3,
  APPEND: MACOS ? 0x8 : 0x400,
  NONBLOCK: MACOS ? 0x4 : 0x800,
  NOFOLLOW: MACOS ? 0x100 : ARM64 ? 0x8000 : 0x2_0000,
  DIRECTORY: MACOS ? 0x10_0000 : ARM64 ? 0x4000 : 0x1_0000,
  CLOEXEC: MACOS ? 0x100_0000 : 0x8_0000,
  CREAT: MACOS ? 0x200 : 0x40,
  EXCL: MACOS ? 0x800 : 0x80,
  NOCTTY: MACOS ? 0x2_0000 : 0x100,
  /** Linux only: holds an entry without opening it, so no permission on it is needed. */
  PATH: 0x20_0000,
} as const;

/** Neither command takes a further argument. */
const FIOCLEX = MACOS ? 0x2000_6601 : 0x5451;
const F_GETFL = 3;

/** Closes a descriptor. The number is free whatever this returns. */
export function close(descriptor: Descriptor): void {
  libc()?.close(descriptor);
}

/** Keeps programs that are started from now on from inheriting `descriptor`. */
export function setCloseOnExec(descriptor: Descriptor): Posix<undefined> {
  return done(libc()?.ioctl(descriptor, FIOCLEX, 0));
}

/** Less than 0 if the descriptor is not open. */
function flagsOf(descriptor: Descriptor): number {
  return libc()?.fcntl(descriptor, F_GETFL) ?? -1;
}

/** Whether a descriptor was opened for reading, alone or with writing. */
export function isReadable(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  const isHeldOnly = !MACOS && (flags & O.PATH) !== 0;
  return flags >= 0 && !isHeldOnly && (flags & O.ACCMODE) !== O.WRONLY;
}

/** Whether a descriptor was opened for reading only. */
export function isReadOnly(descriptor: Descriptor): boolean {
  const flags = flagsOf(descriptor);
  return flags >= 0 && (flags & O.ACCMODE) === O.RDONLY;
}

/** A pipe, close-on-exec on both ends. Linux sets that when it makes the pipe; on macOS it is set just after. */
export function openPipe(): Posix<{ readonly readEnd: Descriptor; readonly writeEnd: Descriptor }> {
  const ends = new Int32Array(2);
  const made = done(MACOS ? macosPipe()?.pipe(ends) : linuxPipe()?.pipe2(ends, O.CLOEXEC));
  if (!made.ok) return made;
  const [readEnd = -1, writeEnd = -1] = ends;
  for (const end of MACOS ? ends : []) {
    const set = setCloseOnExec(end);
    if (set.ok) continue;
    close(readEnd);
    close(writeEnd);
    return set;
  }
  return ok({ readEnd, writeEnd });
}

const POLLIN = 1;
const POLLOUT = 4;
/** `struct pollfd`: the descriptor, the requested events, the returned events. */
const POLLFD_BYTES = 8;

/** For each descriptor, whether it is readable now: bytes, an end, an error, or a process that has exited. */
export function readable(descriptors: readonly Descriptor[]): boolean[] {
  return poll(descriptors, POLLIN);
}

/** Whether a pipe has room for `PIPE_BUF` bytes now, or has no reader any more. */
export function writable(descriptor: Descriptor): boolean {
  return poll([descriptor], POLLOUT)[0] === true;
}

/** Does not wait. A call that a signal interrupted reports nothing. */
function poll(descriptors: readonly Descriptor[], events: number): boolean[] {
  const bytes = new Uint8Array(descriptors.length * POLLFD_BYTES);
  const entries = new DataView(bytes.buffer);
  for (const [at, descriptor] of descriptors.entries()) {
    entries.setInt32(at * POLLFD_BYTES, descriptor, true);
    entries.setInt16(at * POLLFD_BYTES + 4, events, true);
  }
  const came = descriptors.length > 0 && (waiting()?.poll(bytes, descriptors.length, 0) ?? 0) > 0;
  return descriptors.map((_, at) => came && entries.getInt16(at * POLLFD_BYTES + 6, true) !== 0);
}

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/**
 * Linux: sends to a socket that others share, as much as it takes at once, without changing its behaviour for them.
 * Returns the number of bytes. `ENOSYS` if there is no such call.
 */
export function sendAtOnce(socket: Descriptor, bytes: Uint8Array): Posix<number> {
  return number(sending()?.send(socket, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL));
}

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
/** `struct epoll_event` is packed on x86-64, and on no other architecture. */
const EVENT_BYTES = process.arch === "x64" ? 12 : 16;
const EVENT_VALUE_OFFSET = process.arch === "x64" ? 4 : 8;
const EVENTS_PER_READ = 64;

/**
 * Linux: tells which of many descriptors have become readable. The cost does not grow with their number. Elsewhere, and
 * if the C library cannot be called, no descriptor can be added.
 */
export class ReadinessSet {
  readonly #descriptor = epoll()?.epoll_create1(EPOLL_CLOEXEC) ?? -1;
  /** Room for the events of one reading, or for one that is added. */
  readonly #events = new Uint8Array(EVENT_BYTES * EVENTS_PER_READ);
  readonly #view = new DataView(this.#events.buffer);

  /** Adds a descriptor under a number that the caller chooses. Returns whether it worked. */
  add(descriptor: Descriptor, value: number): boolean {
    this.#view.setUint32(0, EPOLLIN, true);
    this.#view.setUint32(EVENT_VALUE_OFFSET, value, true);
    return epoll()?.epoll_ctl(this.#descriptor, EPOLL_CTL_ADD, descriptor, this.#events) === 0;
  }

  /** The numbers of some descriptors that are readable now, or an empty list. A closed descriptor leaves the set. */
  take(): number[] {
    const count = epoll()?.epoll_wait(this.#descriptor, this.#events, EVENTS_PER_READ, 0) ?? 0;
    return Array.from({ length: Math.max(0, count) }, (_, index) =>
      this.#view.getUint32(index * EVENT_BYTES + EVENT_VALUE_OFFSET, true),
    );
  }
}
