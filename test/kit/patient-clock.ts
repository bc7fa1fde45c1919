/** The machine's own clock for tests on a busy machine: no bound of the runtime is reached only because it is busy. */

import { type Clock, systemClock } from "../../src/runtime/clock.ts";

/** A wait of this length or more is a bound: a grace, or the longest time of a request. A shorter one is waited out. */
const BOUND_MS = 3_000;
const PATIENCE = 20;

export const patientClock: Clock = {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms < BOUND_MS ? ms : PATIENCE * ms, callback),
};
