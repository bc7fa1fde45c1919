/** Writes to a socket that others share, without waiting and without changing its behaviour for them. */

import { number, type Posix } from "./errors.ts";
import { linuxCallsOf } from "./library.ts";

const linux = linuxCallsOf({ send: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" } });

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/** Linux: sends as much as the socket takes at once. Returns the number of bytes. `ENOSYS` if there is no such call. */
export function sendAtOnce(fd: number, bytes: Uint8Array): Posix<number> {
  return number(linux()?.send(fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL));
}
