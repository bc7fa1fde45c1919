/**
 * Names and paths, where a call will read them.
 *
 * A name is the bytes of one directory entry, never decoded. A name that is empty, holds a NUL or a slash is refused
 * with `EINVAL` by every call that takes one, so that no call leaves the directory it was given.
 */

import { type Pointer, ptr } from "bun:ffi";
import { fault } from "../result.ts";
import type { Posix } from "./errors.ts";
import { MACOS } from "./platform.ts";

/** One directory entry's name, as bytes. */
export type Name = Uint8Array;

export const INVALID: Posix<never> = fault("EINVAL");
export const TOO_LONG: Posix<never> = fault("ENAMETOOLONG");

/** Longest path, and longest target of a link, with the NUL after it. */
export const PATH_BYTES = 4097;
/** The directory that a path without a leading slash starts from: the process's own. */
export const AT_FDCWD = MACOS ? -2 : -100;

const SLASH = 0x2f;
const encoder = new TextEncoder();

/** A text as the bytes of a name. */
export function encodeName(text: string): Name {
  return encoder.encode(text);
}

/** Memory that the calls are handed: at one address, for as long as the array itself is referred to. */
export function fixedMemory(bytes: number) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { memory, at: ptr(memory), view: new DataView(memory.buffer) };
}

/** Rooms for the paths of a call, which takes two of them at most. */
const first = fixedMemory(PATH_BYTES);
export const second = fixedMemory(PATH_BYTES);

/** Puts `bytes` and a NUL where a call will read them; `undefined` where they would be cut short. */
export function place(bytes: Uint8Array, where = first): Pointer | undefined {
  if (bytes.length === 0 || bytes.length >= PATH_BYTES || bytes.includes(0)) return undefined;
  where.memory.set(bytes);
  where.memory[bytes.length] = 0;
  return where.at;
}

/** The same of a name; `undefined` where it is none. */
export function placeName(name: Name, where = first): Pointer | undefined {
  return name.includes(SLASH) ? undefined : place(name, where);
}
