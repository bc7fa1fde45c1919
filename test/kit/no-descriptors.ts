/** Leaves this process without a free descriptor. Start it with a low limit (`ulimit -n`). */

import { closeSync, openSync } from "node:fs";

/** Takes every descriptor that is left. Returns what gives them back. */
export function takeDescriptors(): () => void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    // None is left.
  }
  return () => {
    for (const descriptor of taken.splice(0)) closeSync(descriptor);
  };
}
