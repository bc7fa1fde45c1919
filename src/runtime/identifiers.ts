/** Identifiers of the runtime's side: a prefix and a UUID version 7 (RFC 9562), which sort by the time of their making. */

import { randomBytes } from "node:crypto";

/** Session, delegation, context, task, message, request, formation. */
export type IdPrefix = "ses" | "dlg" | "ctx" | "tsk" | "msg" | "req" | "frm";

/** `<prefix>_` and 32 lowercase hex digits. */
export type Id<P extends IdPrefix> = `${P}_${string}`;

/** What identifiers are made from: unix milliseconds, and so many bytes that no one can guess. */
export interface IdSource {
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

const COUNTER_BITS = 12;

/**
 * A maker of identifiers, each greater than the one before whatever its prefix, also when the clock stands still or is
 * set back: of one millisecond, the twelve bits after the version count up from a random start (RFC 9562, 6.2,
 * method 1), and where they are used up the next millisecond is taken in advance.
 */
export function createIdMaker({ now, randomBytes }: IdSource): <P extends IdPrefix>(prefix: P) => Id<P> {
  let millisecond = -1;
  let counter = 0;
  return (prefix) => {
    const random = Buffer.from(randomBytes(10));
    const time = Math.floor(now());
    if (time > millisecond) {
      millisecond = time;
      // The upper half is left to count in.
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

/** A fresh identifier, greater than every one that this process made before. */
export const newId = createIdMaker({ now: Date.now, randomBytes });

/** What makes the name of a child's directory its own: 8 random bytes as 16 lowercase hex digits. */
export function directorySuffix(random: IdSource["randomBytes"] = randomBytes): string {
  return Buffer.from(random(8)).toString("hex");
}
