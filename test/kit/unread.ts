/** Standard streams that nothing reads, as a program may inherit them. A test empties them when it wants to. */

import { dlopen, FFIType, ptr, read } from "bun:ffi";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

export interface UnreadStream {
  /** For the program. */
  readonly fd: number;
  /** What has arrived since the last call; empty if nothing has. */
  take(): string;
  [Symbol.dispose](): void;
}

const libc = () =>
  dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
    grantpt: { args: [FFIType.i32], returns: FFIType.i32 },
    unlockpt: { args: [FFIType.i32], returns: FFIType.i32 },
    ptsname: { args: [FFIType.i32], returns: FFIType.cstring },
    socketpair: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  }).symbols;

/** A terminal whose window is frozen. */
export function unreadTerminal(): UnreadStream {
  const calls = libc();
  const master = openSync("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (calls.grantpt(master) !== 0 || calls.unlockpt(master) !== 0) throw new Error("no terminal to be had");
  const fd = openSync(String(calls.ptsname(master)), O_RDWR | O_NOCTTY);
  // Each line feed comes out as two characters.
  return unread(fd, master, (text) => text.replaceAll("\r\n", "\n"));
}

/** A pipe that has no room left. */
export function fullPipe(): UnreadStream {
  const folder = mkdtempSync(join(tmpdir(), "mur-roost-pipe-"));
  try {
    const path = join(folder, "pipe");
    if (Bun.spawnSync(["mkfifo", path]).exitCode !== 0) throw new Error("no pipe to be had");
    const reader = openSync(path, O_RDONLY | O_NONBLOCK);
    const filler = openSync(path, O_WRONLY | O_NONBLOCK);
    let filled = 0;
    for (let piece = 65_536; piece >= 1; ) {
      const taken = attempt(() => writeSync(filler, "#".repeat(piece)));
      filled += taken;
      if (taken === 0) piece = Math.floor(piece / 2);
    }
    closeSync(filler);
    let left = filled;
    return unread(openSync(path, O_WRONLY), reader, (text) => {
      const filling = Math.min(left, text.length);
      left -= filling;
      return text.slice(filling);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A socket, as a service manager gives one to a service. */
export function unreadSocket(): UnreadStream {
  const ends = new Int32Array(2);
  const [unix, stream] = [1, 1];
  if (libc().socketpair(unix, stream, 0, ptr(ends)) !== 0) throw new Error("no socket to be had");
  const [fd, reader] = [read.i32(ptr(ends), 0), read.i32(ptr(ends), 4)];
  // Its own flags, so that reading never waits; the other end keeps its own.
  return unread(fd, reader, (text) => text, "socket");
}

function unread(
  fd: number,
  reader: number,
  show: (text: string) => string,
  kind: "socket" | "file" = "file",
): UnreadStream {
  const room = Buffer.alloc(65_536);
  const receive = kind === "socket" ? receiver(reader) : () => readSync(reader, room, 0, room.length, null);
  return {
    fd,
    take() {
      let text = "";
      for (let count = attempt(() => receive(room)); count > 0; count = attempt(() => receive(room))) {
        text += room.toString("latin1", 0, count);
      }
      return show(text);
    },
    [Symbol.dispose]() {
      closeSync(fd);
      closeSync(reader);
    },
  };
}

const MSG_DONTWAIT = process.platform === "darwin" ? 0x80 : 0x40;

function receiver(fd: number): (room: Buffer) => number {
  const { recv } = dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
    recv: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
  }).symbols;
  return (room) => Number(recv(fd, ptr(room), BigInt(room.length), MSG_DONTWAIT));
}

/** How many bytes were written; 0 if none could be. */
function attempt(transfer: () => number): number {
  try {
    return transfer();
  } catch {
    return 0;
  }
}
