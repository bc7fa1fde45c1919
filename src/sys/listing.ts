/** Lists the entries of a directory by descriptor, with their names as bytes. */

import { ptr, read, toArrayBuffer } from "bun:ffi";
import { ok } from "../result.ts";
import { seek } from "./content.ts";
import { close, type Descriptor } from "./descriptors.ts";
import { lastFault, NO_CALL, number, type Posix } from "./errors.ts";
import { clearErrno, errno, LONG, linuxCallsOf, macosCallsOf, macosInodeCallsOf, SIZE } from "./library.ts";
import { encodeName, type Name } from "./names.ts";
import { openDirectoryAt } from "./opening.ts";
import { ARM64, MACOS } from "./platform.ts";
import { type Kind, kindOf } from "./status.ts";

/** The number of `getdents64`, which older C libraries do not wrap. */
const SYS_GETDENTS64 = ARM64 ? 61 : 217;
const linux = linuxCallsOf({ syscall: { args: [LONG, "i32", "ptr", SIZE], returns: LONG } });
const macosInodes = macosInodeCallsOf({
  fdopendir: { args: ["i32"], returns: "ptr" },
  readdir: { args: ["ptr"], returns: "ptr" },
});
const macos = macosCallsOf({ closedir: { args: ["ptr"], returns: "i32" } });

/** One entry as the directory lists it. By the time it is opened it may be another, or gone. */
export interface Entry {
  readonly name: Name;
  readonly kind: Kind;
}

/** Every entry but `.` and `..`, in the order of their names' bytes. */
export function listDirectory(directory: Descriptor): Posix<Entry[]> {
  const entries = MACOS ? listMacos(directory) : listLinux(directory);
  if (entries.ok) entries.value.sort((a, b) => Buffer.compare(a.name, b.name));
  return entries;
}

const DOT = 0x2e;

function isSelfOrParent(name: Name): boolean {
  return name[0] === DOT && (name.length === 1 || (name.length === 2 && name[1] === DOT));
}

const buffer = new Uint8Array(new ArrayBuffer(64 * 1024));
const bufferAt = ptr(buffer);
const bufferView = new DataView(buffer.buffer);

/** `struct linux_dirent64`: its length at 16, its type at 18, its name from 19 to a NUL. */
function listLinux(directory: Descriptor): Posix<Entry[]> {
  const rewound = seek(directory, 0, "start");
  if (!rewound.ok) return rewound;
  const entries: Entry[] = [];
  for (;;) {
    const filled = number(linux()?.syscall(SYS_GETDENTS64, directory, bufferAt, buffer.length));
    if (!filled.ok) return filled;
    if (filled.value === 0) return ok(entries);
    for (let at = 0; at < filled.value; at += bufferView.getUint16(at + 16, true)) {
      const name = buffer.slice(at + 19, buffer.indexOf(0, at + 19));
      if (!isSelfOrParent(name)) entries.push({ name, kind: kindOf(buffer[at + 18] ?? 0) });
    }
  }
}

const SELF = encodeName(".");

/** `struct dirent` with 64-bit inodes: its name's length at 18, its type at 20, its name from 21. */
function listMacos(directory: Descriptor): Posix<Entry[]> {
  const [inodes, calls] = [macosInodes(), macos()];
  if (!inodes || !calls) return NO_CALL;
  // The stream takes over its descriptor and closes it. So it gets a new one, which also starts at the first entry.
  const fresh = openDirectoryAt(directory, SELF);
  if (!fresh.ok) return fresh;
  const stream = inodes.fdopendir(fresh.value);
  if (stream === null) {
    const failed = lastFault();
    close(fresh.value);
    return failed;
  }
  const entries: Entry[] = [];
  for (;;) {
    clearErrno();
    const entry = inodes.readdir(stream);
    if (typeof entry !== "number") break;
    const name = new Uint8Array(toArrayBuffer(entry, 21, read.u16(entry, 18))).slice();
    if (!isSelfOrParent(name)) entries.push({ name, kind: kindOf(read.u8(entry, 20)) });
  }
  const listed = errno() === 0 ? ok(entries) : lastFault();
  calls.closedir(stream);
  return listed;
}
