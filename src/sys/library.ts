/**
 * The C library of this platform, opened in this one place: for the few system calls that the runtime does not offer.
 *
 * A host may forbid what calling it needs: memory that is written and then run. So a file that declares calls gets
 * them or nothing, and nothing here throws. `libraryFault` says what is missing, in one sentence.
 *
 * Each subject declares its own calls in a file beside this one; they are bound at their first use.
 */

import { dlopen, type FFIFunction, FFIType, read } from "bun:ffi";

export const MACOS = process.platform === "darwin";

const LIBRARY = MACOS ? "/usr/lib/libSystem.B.dylib" : "libc.so.6";

type Declarations = Readonly<Record<string, FFIFunction>>;

/** The functions that were declared, callable. */
export type Calls<D extends Declarations> = ReturnType<typeof dlopen<D>>["symbols"];

/** The result of binding: the functions, or why there are none. */
type Binding<D extends Declarations> =
  | { readonly calls: Calls<D>; readonly fault?: undefined }
  | { readonly calls?: undefined; readonly fault: string };

function bindAtFirstUse<const D extends Declarations>(declarations: D): () => Binding<D> {
  let bound: Binding<D> | undefined;
  return () => {
    bound ??= bind(declarations);
    return bound;
  };
}

function bind<const D extends Declarations>(declarations: D): Binding<D> {
  try {
    return { calls: dlopen(LIBRARY, declarations).symbols };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** Binds at the first use: all of them, or nothing (`undefined`) where the C library cannot be called, or lacks one. */
export function callsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  const bound = bindAtFirstUse(declarations);
  return () => bound().calls;
}

/** The same for calls that only Linux has. */
export function linuxCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  return process.platform === "linux" ? callsOf(declarations) : () => undefined;
}

/** The same for calls that only macOS has. */
export function macosCallsOf<const D extends Declarations>(declarations: D): () => Calls<D> | undefined {
  return MACOS ? callsOf(declarations) : () => undefined;
}

const ERRNO = MACOS ? "__error" : "__errno_location";
const errnoBinding = bindAtFirstUse({ [ERRNO]: { args: [], returns: FFIType.ptr } });

/** The error of the call just made; nothing may run in between. 0 where the C library cannot be called. */
export function errno(): number {
  const location = errnoBinding().calls?.[ERRNO]?.();
  return typeof location === "number" ? read.i32(location) : 0;
}

/** Why the C library cannot be called on this host, as half a sentence; `undefined` where it can. */
export function libraryFault(): string | undefined {
  const { fault } = errnoBinding();
  return fault === undefined ? undefined : `the C library cannot be called (${fault})`;
}
