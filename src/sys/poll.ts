/** Tells whether descriptors can be read or written without waiting. */

import type { Descriptor } from "./descriptors.ts";
import { callsOf } from "./library.ts";

const libc = callsOf({ poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });

const POLLIN = 1;
const POLLOUT = 4;
/** `struct pollfd`: the descriptor, the requested events, the returned events. */
const ENTRY_BYTES = 8;

/** For each descriptor, whether it is readable now: bytes, an end, an error, or a process that has exited. */
export function readable(descriptors: readonly Descriptor[]): boolean[] {
  return ask(descriptors, POLLIN);
}

/** Whether a pipe has room for `PIPE_BUF` bytes now, or has no reader any more. */
export function writable(descriptor: Descriptor): boolean {
  return ask([descriptor], POLLOUT)[0] === true;
}

/** Does not wait. A call that a signal interrupted reports nothing. */
function ask(descriptors: readonly Descriptor[], events: number): boolean[] {
  const bytes = new Uint8Array(descriptors.length * ENTRY_BYTES);
  const entries = new DataView(bytes.buffer);
  for (const [at, descriptor] of descriptors.entries()) {
    entries.setInt32(at * ENTRY_BYTES, descriptor, true);
    entries.setInt16(at * ENTRY_BYTES + 4, events, true);
  }
  const came = descriptors.length > 0 && (libc()?.poll(bytes, descriptors.length, 0) ?? 0) > 0;
  return descriptors.map((_, at) => came && entries.getInt16(at * ENTRY_BYTES + 6, true) !== 0);
}
