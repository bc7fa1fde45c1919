/** Pipes. */

import { ok } from "../result.ts";
import { type Descriptor, setCloseOnExec } from "./descriptors.ts";
import { done, type Posix } from "./errors.ts";
import { callsOf, linuxCallsOf } from "./library.ts";
import { O_CLOEXEC } from "./open-flags.ts";
import { MACOS } from "./platform.ts";

const libc = callsOf({ pipe: { args: ["ptr"], returns: "i32" } });
const linux = linuxCallsOf({ pipe2: { args: ["ptr", "i32"], returns: "i32" } });

/** A pipe, close-on-exec on both ends. Linux sets that when it makes the pipe; on macOS it is set just after. */
export function openPipe(): Posix<{ readonly readEnd: Descriptor; readonly writeEnd: Descriptor }> {
  const ends = new Int32Array(2);
  const made = done(MACOS ? libc()?.pipe(ends) : linux()?.pipe2(ends, O_CLOEXEC));
  if (!made.ok) return made;
  const [readEnd = -1, writeEnd = -1] = ends;
  if (MACOS) {
    setCloseOnExec(readEnd);
    setCloseOnExec(writeEnd);
  }
  return ok({ readEnd, writeEnd });
}
