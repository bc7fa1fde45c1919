/**
 * The C library through `bun:ffi`, declared for what this library calls.
 *
 * `openat`, `ioctl`, `fcntl` and `syscall` are variadic. On Linux a further argument travels like a fixed one; on Apple's 64-bit
 * ARM it does not, so nothing depends on one there: a file's mode is set after it was created, and `FIOCLEX` and
 * `F_GETFL` take no argument.
 *
 * `errno` is read right after the call that set it, with no allocation between: a thread's own memory, which only a
 * further call of that thread changes.
 */

import { dlopen, type FFIFunction, FFIType, type Pointer, read, toArrayBuffer } from "bun:ffi";
import { constants } from "node:os";
import { fault, ok, type Result } from "../result.ts";
import { INODE64, LIBC, MACOS } from "./platform.ts";

const { i32, u32, ptr, i64_fast: long, u64_fast: size } = FFIType;

let refusal: string | undefined;

/**
 * Why the C library cannot be called in this process, where it cannot: a host that lets no program write memory and run
 * it refuses what `bun:ffi` needs. Importing this library does not fail then; every call through it throws.
 */
export function whyNoCalls(): string | undefined {
  return refusal;
}

/** The functions of the C library that are declared; each throws where they cannot be had (`whyNoCalls`). */
export function library<const F extends Record<string, FFIFunction>>(declarations: F) {
  try {
    return dlopen(LIBC, declarations).symbols;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    refusal ??= why;
    const none = () => {
      throw new Error(`${LIBC} cannot be called: ${why}`);
    };
    return new Proxy({}, { get: () => none }) as ReturnType<typeof dlopen<F>>["symbols"];
  }
}

/** One function that not every version of this platform's C library has. */
export function optional<const F extends FFIFunction>(name: string, declaration: F) {
  try {
    return dlopen(LIBC, { [name]: declaration }).symbols[name];
  } catch {
    return undefined;
  }
}

/** One function under a name that differs by platform. */
function bind<const F extends FFIFunction>(name: string, declaration: F) {
  const bound = library({ [name]: declaration })[name];
  if (!bound) throw new Error(`${LIBC} has no ${name}`);
  return bound;
}

export const libc = library({
  openat: { args: [i32, ptr, i32, u32], returns: i32 },
  mkdirat: { args: [i32, ptr, u32], returns: i32 },
  unlinkat: { args: [i32, ptr, i32], returns: i32 },
  renameat: { args: [i32, ptr, i32, ptr], returns: i32 },
  symlinkat: { args: [ptr, i32, ptr], returns: i32 },
  readlinkat: { args: [i32, ptr, ptr, size], returns: long },
  fchmod: { args: [i32, u32], returns: i32 },
  fchmodat: { args: [i32, ptr, u32, i32], returns: i32 },
  futimens: { args: [i32, ptr], returns: i32 },
  ftruncate: { args: [i32, long], returns: i32 },
  lseek: { args: [i32, long, i32], returns: long },
  read: { args: [i32, ptr, size], returns: long },
  write: { args: [i32, ptr, size], returns: long },
  close: { args: [i32], returns: i32 },
  pipe: { args: [ptr], returns: i32 },
  ioctl: { args: [i32, size, i32], returns: i32 },
  fcntl: { args: [i32, i32], returns: i32 },
});

/** Calls that Linux alone has; `syscall` stands in for `getdents64`, which older C libraries do not wrap. */
export const linux = MACOS
  ? undefined
  : library({
      statx: { args: [i32, ptr, i32, u32, ptr], returns: i32 },
      copy_file_range: { args: [i32, ptr, i32, ptr, size, u32], returns: long },
      pipe2: { args: [ptr, i32], returns: i32 },
      syscall: { args: [long, i32, ptr, size], returns: long },
    });

export const macos = MACOS
  ? {
      fstat: bind(`fstat${INODE64}`, { args: [i32, ptr], returns: i32 }),
      fstatat: bind(`fstatat${INODE64}`, { args: [i32, ptr, ptr, i32], returns: i32 }),
      fdopendir: bind(`fdopendir${INODE64}`, { args: [i32], returns: ptr }),
      readdir: bind(`readdir${INODE64}`, { args: [ptr], returns: ptr }),
      closedir: bind("closedir", { args: [ptr], returns: i32 }),
      fclonefileat: bind("fclonefileat", { args: [i32, i32, ptr, u32], returns: i32 }),
    }
  : undefined;

/** The name of an error: `ENOENT`. `EUNKNOWN` is one that this platform's list does not hold. */
export type Errno = keyof typeof constants.errno | "EUNKNOWN";

export type Posix<T> = Result<T, Errno>;
/** The number of an open file. */
export type Descriptor = number;

const NAMES = new Map<number, Errno>();
for (const [name, number] of Object.entries(constants.errno)) {
  // Two names of one number (EAGAIN, EWOULDBLOCK): the first is the usual one.
  if (!NAMES.has(number)) NAMES.set(number, name as Errno);
}

const errnoOf = bind(MACOS ? "__error" : "__errno_location", { args: [], returns: ptr });
/** Of the thread that loaded this module: each thread has a copy of its own. */
const errnoAddress = addressOfErrno();

function addressOfErrno(): Pointer {
  if (refusal !== undefined) return 0 as Pointer;
  const address = errnoOf();
  if (address === null) throw new Error(`${LIBC} has no errno`);
  return address as Pointer;
}

const FAULTS = new Map<number, Result<never, Errno>>();

/** What the last call failed with. */
export function lastFault(): Result<never, Errno> {
  return faultOf(read.i32(errnoAddress, 0));
}

/** The fault of an error by its number, for a call that returns it. */
export function faultOf(number: number): Result<never, Errno> {
  let known = FAULTS.get(number);
  if (!known) {
    known = fault(NAMES.get(number) ?? "EUNKNOWN");
    FAULTS.set(number, known);
  }
  return known;
}

const DONE: Posix<void> = ok(undefined);

/** For a call that returns less than 0 when it fails, and otherwise nothing that matters. */
export function done(returned: number): Posix<void> {
  return returned < 0 ? lastFault() : DONE;
}

const EINTR = constants.errno.EINTR;

/** Whether a signal interrupted the last call, which must then be made again. */
export function interrupted(): boolean {
  return read.i32(errnoAddress, 0) === EINTR;
}

/** For a call that returns nothing both at its end and on an error: with no error before, none after is the end. */
export function clearFault(): void {
  new Int32Array(toArrayBuffer(errnoAddress, 0, 4))[0] = 0;
}

/** What the last call failed with, since `clearFault`. */
export function faultSinceCleared(): Result<never, Errno> | undefined {
  return read.i32(errnoAddress, 0) === 0 ? undefined : lastFault();
}
