/**
 * Names and paths in memory that a call reads.
 *
 * A name is the bytes of one directory entry, never decoded. Every call that takes a name refuses one that is empty or
 * holds a NUL or a slash, with `EINVAL`. So no call leaves the directory it was given.
 */

import { type Pointer, ptr } from "bun:ffi";
import { fault } from "../result.ts";
import type { Posix } from "./errors.ts";
import { MACOS } from "./platform.ts";

/** One directory entry's name, as bytes. */
export type Name = Uint8Array;

export const INVALID: Posix<never> = fault("EINVAL");
export const TOO_LONG: Posix<never> = fault("ENAMETOOLONG");

/** The longest path, and the longest target of a link, including the NUL. */
export const PATH_BYTES = 4097;
/** The directory that a path without a leading slash starts from: the process's own. */
export const AT_FDCWD = MACOS ? -2 : -100;

const SLASH = 0x2f;
const encoder = new TextEncoder();

/** The bytes of a name given as text. */
export function encodeName(text: string): Name {
  return encoder.encode(text);
}

/** Memory that is passed to the calls. Its address stays the same for as long as the array is referenced. */
export function fixedMemory(bytes: number) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { memory, at: ptr(memory), view: new DataView(memory.buffer) };
}

/** Room for the paths of a call, which takes at most two. */
const first = fixedMemory(PATH_BYTES);
export const second = fixedMemory(PATH_BYTES);

/** Puts `bytes` and a NUL where a call reads them. `undefined` if they do not fit or hold a NUL. */
export function place(bytes: Uint8Array, where = first): Pointer | undefined {
  if (bytes.length === 0 || bytes.length >= PATH_BYTES || bytes.includes(0)) return undefined;
  where.memory.set(bytes);
  where.memory[bytes.length] = 0;
  return where.at;
}

/** The same for a name. `undefined` if it is not a valid one. */
export function placeName(name: Name, where = first): Pointer | undefined {
  return name.includes(SLASH) ? undefined : place(name, where);
}
