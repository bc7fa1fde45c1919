/** Operating system errors in the words an operator knows: `Not a directory (os error 20)`. */

import { constants } from "node:os";

/** An exception of the file system or the network: it carries the number the OS gave. */
interface SystemError extends Error {
  readonly errno: number;
  readonly code: string;
}

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && "code" in error;
}

/** What was thrown, in its own words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Errors that the runtime words differently from the C library. */
const C_LIBRARY_WORDS: Readonly<Record<string, string>> = {
  EISDIR: "Is a directory",
  ELOOP: "Too many levels of symbolic links",
  EMFILE: "Too many open files",
  ENAMETOOLONG: "File name too long",
  EIO: "Input/output error",
  EROFS: "Read-only file system",
};

/** `Not a directory (os error 20)`; an exception without a number keeps its own message. */
export function describeOsError(error: unknown): string {
  if (!isSystemError(error)) return messageOf(error);
  // A failed bind has a code but no number.
  const number = Math.abs(error.errno) || (constants.errno[error.code as keyof typeof constants.errno] ?? 0);
  return describeErrno(error.code, number);
}

/** The same, from an error's name and its number on this platform. */
export function describeErrno(code: string, number: number): string {
  // Loaded only when needed: loading it always would slow down every start.
  const { getSystemErrorMap } = process.getBuiltinModule("node:util");
  const words = C_LIBRARY_WORDS[code] ?? getSystemErrorMap().get(-number)?.[1] ?? code;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} (os error ${number})`;
}
