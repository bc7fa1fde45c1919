/**
 * Collections of short-lived garbage at a pace of our own.
 *
 * Left alone, the collector lets garbage grow to the size of everything that lives, and what it frees goes back to the
 * system meanwhile. A page that is touched for the first time costs up to 18 µs on a virtual machine, about half of what
 * a request does: the more a daemon remembers, the dearer each request. Small and frequent collections stay in pages
 * that are there already.
 */

import { edenGC } from "bun:jsc";

/** Some 4 MB of garbage. A collection takes about a millisecond, so more of them would show in the latencies. */
const REQUESTS_A_COLLECTION = 512;

let requests = 0;

/** Counts a request; every so often, what the last ones left is collected once this one is answered. */
export function countRequest(): void {
  if (++requests % REQUESTS_A_COLLECTION !== 0) return;
  // Answers are written in the next step of the event loop at the latest; this is the one after it.
  setImmediate(() => setImmediate(edenGC));
}
