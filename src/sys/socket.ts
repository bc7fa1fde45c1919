/** Writing to a socket that others share, without waiting and without changing how it behaves for them. */

import { errno, linuxCallsOf } from "./library.ts";

const linux = linuxCallsOf({ send: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" } });

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/** Linux: sends what the socket takes at once: the bytes, or minus the error's number; `undefined` where there is no such call. */
export function sendAtOnce(fd: number, bytes: Uint8Array): number | undefined {
  const calls = linux();
  if (!calls) return undefined;
  const sent = Number(calls.send(fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL));
  return sent >= 0 ? sent : -errno();
}
