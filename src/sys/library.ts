/**
 * The C library of this platform, opened only here, for the few system calls that Bun does not offer. Also the
 * result of a call: a value, or the name of its error.
 *
 * A host may forbid what calling it needs: memory that is written and then run. So those who declare calls get all of
 * them or `undefined`, and nothing here throws. `libraryFault` says what is missing, in the system's words.
 *
 * Calls are declared next to the code that uses them. Calls that are needed together are declared together, and bound at
 * first use.
 *
 * Some calls take a variable number of arguments: `openat`, `ioctl`, `fcntl`, `syscall`. On Linux a further argument is
 * passed like a fixed one. On Apple's 64-bit ARM it is not, so nothing depends on one there.
 */

import { dlopen, type FFIFunction, FFIType, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { constants } from "node:os";
import { describeErrno, isSystemError, messageOf } from "../os-error.ts";
import { fault, ok, type Result } from "../result.ts";

/** The platforms whose numbers and structures this folder knows: Linux and macOS, on x64 and arm64. */
const LINUX = process.platform === "linux";
export const MACOS = process.platform === "darwin";
export const ARM64 = process.arch === "arm64";

/** Linux: glibc 2.29 or later. */
const LIBRARY = MACOS ? "/usr/lib/libSystem.B.dylib" : "libc.so.6";

/**
 * The text of a function, for a thread that runs from a text. `bindExit()` returns a function that ends the process at
 * once with a status, where `process.exit` would end only the thread. It throws if the C library cannot be called.
 */
export const BIND_EXIT = `
  const bindExit = () =>
    require("bun:ffi").dlopen(${JSON.stringify(LIBRARY)}, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit;
`;

/** C's `long` and `size_t`: a number whenever it fits in one. */
export const LONG = FFIType.i64_fast;
export const SIZE = FFIType.u64_fast;

type Declarations = Readonly<Record<string, FFIFunction>>;

/** The declared functions, callable. */
type Calls<D extends Declarations> = ReturnType<typeof dlopen<D>>["symbols"];

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

/**
 * The same for calls of macOS that return inodes. On x64 those that know 64-bit inodes have names of their own. They are
 * declared and called by their plain names.
 */
export function macosInodeCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  const suffix = ARM64 ? "" : "$INODE64";
  const names = Object.keys(declarations);
  const calls = macosCallsOf(
    Object.fromEntries(names.map((name) => [name + suffix, declarations[name] as FFIFunction])),
  );
  return () => {
    const bound = calls();
    return bound && (Object.fromEntries(names.map((name) => [name, bound[name + suffix]])) as Calls<D>);
  };
}

/**
 * The address of the error is found first, so that nothing runs between a failing call and the reading of its error.
 */
function bind<const D extends Declarations>(declarations: D): Result<Calls<D>, string> {
  const why = libraryFault();
  return why === undefined ? opened(declarations) : fault(why);
}

function opened<const D extends Declarations>(declarations: D): Result<Calls<D>, string> {
  if (!LINUX && !MACOS) return fault(`${process.platform} is neither linux nor darwin`);
  try {
    return ok(dlopen(LIBRARY, declarations).symbols);
  } catch (error) {
    return fault(messageOf(error));
  }
}

/** For the thread that loaded this module: each thread has its own copy of the number and of the module. */
let errnoAt: Result<Pointer, string> | undefined;

/** Why the C library cannot be called on this host, in the system's words; `undefined` if it can. */
export function libraryFault(): string | undefined {
  errnoAt ??= findErrno();
  return errnoAt.ok ? undefined : errnoAt.fault;
}

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

/** Memory that is passed to the calls. Its address stays the same for as long as the array is referenced. */
export function fixedMemory(bytes: number) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { memory, at: ptr(memory), view: new DataView(memory.buffer) };
}

/** The name of an error: `ENOENT`. `EUNKNOWN` is an error that is not in this platform's list. */
export type Errno = keyof typeof constants.errno | "EUNKNOWN";

/** Also `ENOSYS` if the C library cannot be called (`libraryFault`), or has no such function. */
export type Posix<T> = Result<T, Errno>;

/** An error in the words an operator knows: `Permission denied (os error 13)`. */
export function describeError(errno: Errno): string {
  return errno === "EUNKNOWN" ? "An unknown error" : describeErrno(errno, constants.errno[errno]);
}

/** Some numbers have two names (EAGAIN, EWOULDBLOCK). The first is the usual one, so it is set last. */
const NAMES = new Map(
  Object.entries(constants.errno)
    .map(([name, number]) => [number, name as Errno] as const)
    .reverse(),
);

/** The fault for an error number, for a call that returns the number. */
export function faultOf(number: number): Result<never, Errno> {
  return fault(NAMES.get(number) ?? "EUNKNOWN");
}

/** The fault for an exception of one of Bun's own calls. */
export function faultOfException(error: unknown): Result<never, Errno> {
  return faultOf(isSystemError(error) ? Math.abs(error.errno) : 0);
}

/** The error of the call just made. */
export function lastFault(): Result<never, Errno> {
  return faultOf(errno());
}

/** This platform has no such call. */
export const NO_CALL: Result<never, Errno> = fault("ENOSYS");

/** For a call that returns less than 0 when it fails, and nothing else of use. `undefined`: it was not made. */
export function done(returned: number | bigint | undefined): Posix<undefined> {
  if (returned === undefined) return NO_CALL;
  return returned < 0 ? lastFault() : ok(undefined);
}

/** The same for a call whose returned number matters. */
export function number(returned: number | bigint | undefined): Posix<number> {
  if (returned === undefined) return NO_CALL;
  return returned < 0 ? lastFault() : ok(Number(returned));
}

/** The same for a call that is repeated as long as a signal interrupts it. */
export function uninterrupted(call: () => number | bigint | undefined): Posix<number> {
  for (;;) {
    const returned = call();
    if (returned === undefined) return NO_CALL;
    if (returned >= 0) return ok(Number(returned));
    if (errno() !== constants.errno.EINTR) return lastFault();
  }
}
