/** Tells which of many descriptors have something to read. */

import { linuxCallsOf } from "./library.ts";

const linux = linuxCallsOf({
  epoll_create1: { args: ["i32"], returns: "i32" },
  epoll_ctl: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  epoll_wait: { args: ["i32", "ptr", "i32", "i32"], returns: "i32" },
});

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
/** `struct epoll_event` is packed on x86-64, and on no other architecture. */
const EVENT_BYTES = process.arch === "x64" ? 12 : 16;
const EVENT_VALUE_OFFSET = process.arch === "x64" ? 4 : 8;
const EVENTS_PER_READ = 64;

/**
 * Linux: tells which of many descriptors have become readable. The cost does not grow with their number. Elsewhere, and
 * if the C library cannot be called, no descriptor can be added.
 */
export class ReadinessSet {
  readonly #fd = linux()?.epoll_create1(EPOLL_CLOEXEC) ?? -1;
  /** Room for the events of one reading, or for one that is added. */
  readonly #events = new Uint8Array(EVENT_BYTES * EVENTS_PER_READ);
  readonly #view = new DataView(this.#events.buffer);

  /** Adds a descriptor under a number that the caller chooses. Returns whether it worked. */
  add(fd: number, value: number): boolean {
    this.#view.setUint32(0, EPOLLIN, true);
    this.#view.setUint32(EVENT_VALUE_OFFSET, value, true);
    return linux()?.epoll_ctl(this.#fd, EPOLL_CTL_ADD, fd, this.#events) === 0;
  }

  /** The numbers of some descriptors that are readable now, or an empty list. A closed descriptor leaves the set. */
  take(): number[] {
    const count = linux()?.epoll_wait(this.#fd, this.#events, EVENTS_PER_READ, 0) ?? 0;
    return Array.from({ length: Math.max(0, count) }, (_, index) =>
      this.#view.getUint32(index * EVENT_BYTES + EVENT_VALUE_OFFSET, true),
    );
  }
}
