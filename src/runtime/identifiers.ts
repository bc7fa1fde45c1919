/** The runtime's identifiers: a prefix and a UUID version 7 (RFC 9562). They sort by the time they were made. */

import { randomBytes } from "node:crypto";

/** Session, delegation, context, task, message, request, formation. */
export type IdPrefix = "ses" | "dlg" | "ctx" | "tsk" | "msg" | "req" | "frm";

/** `<prefix>_` and 32 lowercase hex digits. */
export type Id<P extends IdPrefix> = `${P}_${string}`;

/** What identifiers are made from: unix milliseconds, and random bytes that nobody can guess. */
export interface IdSource {
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

const COUNTER_BITS = 12;

/**
 * Makes identifiers, each greater than the one before whatever its prefix, even if the clock stands still or is set
 * back. Within one millisecond the twelve bits after the version count up from a random start (RFC 9562, 6.2, method
 * 1). When they are used up, the next millisecond is used early.
 */
export function createIdMaker({ now, randomBytes }: IdSource): <P extends IdPrefix>(prefix: P) => Id<P> {
  let millisecond = -1;
  let counter = 0;
  return (prefix) => {
    const random = Buffer.from(randomBytes(10));
    const time = Math.floor(now());
    if (time > millisecond) {
      millisecond = time;
      // The start is in the lower half, which leaves the upper half for counting.
      counter = random.readUInt16BE(0) >> (16 - COUNTER_BITS + 1);
    } else if (++counter === 1 << COUNTER_BITS) {
      millisecond++;
      counter = 0;
    }
    const tail = random.subarray(2);
    tail[0] = 0x80 | ((tail[0] ?? 0) & 0x3f);
    const head = millisecond.toString(16).padStart(12, "0") + (0x7000 | counter).toString(16);
    return `${prefix}_${head}${tail.toString("hex")}`;
  };
}

/** A new identifier, greater than all that this process made before. */
export const newId = createIdMaker({ now: Date.now, randomBytes });

/** Makes the name of a child's directory unique: 8 random bytes as 16 lowercase hex digits. */
export function directorySuffix(random: IdSource["randomBytes"] = randomBytes): string {
  return Buffer.from(random(8)).toString("hex");
}
