/**
 * The C library of this platform, opened only here, for the few system calls that Bun does not offer.
 *
 * A host may forbid what calling it needs: memory that is written and then run. So a file that declares calls gets all
 * of them or `undefined`, and nothing here throws. `libraryFault` says what is missing, in the system's words.
 *
 * Each subject declares its own calls in a file beside this one. They are bound when first used.
 *
 * Some calls take a variable number of arguments: `openat`, `ioctl`, `fcntl`, `syscall`. On Linux a further argument is
 * passed like a fixed one. On Apple's 64-bit ARM it is not, so nothing depends on one there.
 */

import { dlopen, type FFIFunction, FFIType, type Pointer, read, toArrayBuffer } from "bun:ffi";
import { fault, ok, type Result } from "../result.ts";
import { ARM64, LINUX, MACOS } from "./platform.ts";

/** Linux: glibc 2.29 or later. */
export const LIBRARY = MACOS ? "/usr/lib/libSystem.B.dylib" : "libc.so.6";

/** C's `long` and `size_t`: a number whenever it fits in one. */
export const LONG = FFIType.i64_fast;
export const SIZE = FFIType.u64_fast;

type Declarations = Readonly<Record<string, FFIFunction>>;

/** The declared functions, callable. */
export type Calls<D extends Declarations> = ReturnType<typeof dlopen<D>>["symbols"];

/** Binds when first used. Returns all of them, or `undefined` if the C library cannot be called or lacks one. */
export function callsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  let bound: Result<Calls<D>, string> | undefined;
  return () => {
    bound ??= bind(declarations);
    return bound.ok ? bound.value : undefined;
  };
}

/** The same for calls that only Linux has. */
export function linuxCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  return LINUX ? callsOf(declarations) : () => undefined;
}

/** The same for calls that only macOS has. */
export function macosCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  return MACOS ? callsOf(declarations) : () => undefined;
}

/** macOS on x64 has separate names for the calls that know 64-bit inodes. */
const INODE64 = MACOS && !ARM64 ? "$INODE64" : "";

/** The same for macOS calls that return inodes. They are declared and called by their plain names. */
export function macosInodeCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  const names = Object.keys(declarations);
  const calls = macosCallsOf(
    Object.fromEntries(names.map((name) => [`${name}${INODE64}`, declarations[name] as FFIFunction])),
  );
  let plain: Calls<D> | undefined;
  return () => {
    const bound = calls();
    if (bound)
      plain ??= Object.fromEntries(names.map((name) => [name, bound[`${name}${INODE64}`]])) as Calls<D>;
    return plain;
  };
}

/**
 * The address of the error is found first, so that nothing runs between a failing call and the reading of its error.
 */
function bind<const D extends Declarations>(declarations: D): Result<Calls<D>, string> {
  errnoAt ??= findErrno();
  if (!errnoAt.ok) return errnoAt;
  return opened(declarations);
}

function opened<const D extends Declarations>(declarations: D): Result<Calls<D>, string> {
  if (!LINUX && !MACOS) return fault(`${process.platform} is neither linux nor darwin`);
  try {
    return ok(dlopen(LIBRARY, declarations).symbols);
  } catch (error) {
    return fault(error instanceof Error ? error.message : String(error));
  }
}

/** For the thread that loaded this module: each thread has its own copy of the number and of the module. */
let errnoAt: Result<Pointer, string> | undefined;

function findErrno(): Result<Pointer, string> {
  const name = MACOS ? "__error" : "__errno_location";
  const calls = opened({ [name]: { args: [], returns: "ptr" } });
  if (!calls.ok) return calls;
  const address = calls.value[name]?.();
  return typeof address === "number" ? ok(address as Pointer) : fault(`${LIBRARY} has no errno`);
}

/** The error of the call just made, 0 if none was made. Nothing may run in between. */
export function errno(): number {
  return errnoAt?.ok ? read.i32(errnoAt.value, 0) : 0;
}

/**
 * For a call that returns nothing both at its end and on an error. If the error is cleared before and still clear
 * after, it was the end.
 */
export function clearErrno(): void {
  if (errnoAt?.ok) new Int32Array(toArrayBuffer(errnoAt.value, 0, 4))[0] = 0;
}

/** Why the C library cannot be called on this host, in the system's words; `undefined` if it can. */
export function libraryFault(): string | undefined {
  errnoAt ??= findErrno();
  return errnoAt.ok ? undefined : errnoAt.fault;
}
