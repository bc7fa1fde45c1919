/** The few calls on descriptors that a lifeline needs and no runtime library offers. */

import { dlopen, FFIType, ptr } from "bun:ffi";

const O_CLOEXEC_LINUX = 0x80000;
const FIOCLEX = process.platform === "darwin" ? 0x20006601n : 0x5451n;
const F_GETFL = 3;
const O_ACCMODE = 3;

/**
 * `fcntl` and `ioctl` are variadic: on Apple's 64-bit ARM a further argument would travel elsewhere than a fixed one.
 * The requests used here take none.
 */
const libc = dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
  pipe: { args: [FFIType.ptr], returns: FFIType.i32 },
  ioctl: { args: [FFIType.i32, FFIType.u64], returns: FFIType.i32 },
  fcntl: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
}).symbols;

/** Linux alone makes a pipe that is close-on-exec from its first moment. */
const pipe2 =
  process.platform === "darwin"
    ? undefined
    : dlopen("libc.so.6", { pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 } }).symbols
        .pipe2;

export interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

/** A pipe, close-on-exec on both ends; `undefined` where the process has no descriptor left. */
export function openPipe(): Pipe | undefined {
  const ends = new Int32Array(2);
  const failed = pipe2 ? pipe2(ptr(ends), O_CLOEXEC_LINUX) : libc.pipe(ptr(ends));
  if (failed !== 0) return undefined;
  const [readEnd = -1, writeEnd = -1] = ends;
  if (!pipe2) {
    setCloseOnExec(readEnd);
    setCloseOnExec(writeEnd);
  }
  return { readEnd, writeEnd };
}

/** No program started from now on inherits `descriptor`. */
export function setCloseOnExec(descriptor: number): boolean {
  return libc.ioctl(descriptor, FIOCLEX) === 0;
}

/** Whether an open descriptor can be read and not written. */
export function isReadOnly(descriptor: number): boolean {
  const flags = libc.fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) === 0;
}
