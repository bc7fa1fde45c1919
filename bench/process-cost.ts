/** What a process has cost so far, as the kernel counts it. Linux. */

import { readdirSync, readFileSync } from "node:fs";

/** Microseconds that all its threads have run. `schedstat` counts nanoseconds; other files of `/proc` count 10 ms ticks. */
export function cpuMicroseconds(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ", 1)[0]);
    } catch {
      // A thread may end between the listing and the reading.
    }
  }
  return nanoseconds / 1000;
}

/** Its resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kilobytes) * 1024;
}
