/**
 * Slots that a granted approval holds until somebody redeems it, its session ends, or its 60 seconds pass.
 *
 * Every approval lives equally long, so they expire in the order they were made: a queue, no heap and no timer. Time
 * here is the monotonic clock, which no step of the wall clock moves.
 */

import { APPROVAL_LIFETIME_MS } from "../tokens/authority.ts";
import { ReservationRing } from "./reservation-ring.ts";

/** Who a reserved slot is counted for. */
export interface Holder {
  /** Never another's. */
  readonly number: number;
  /** Live reservations, the holder's own. */
  reserved: number;
}

export type Redemption = "unknown" | "spent" | "redeemed";

export class Reservations {
  readonly #ring = new ReservationRing();
  /** By number: those that have reserved something and not ended. */
  readonly #holders = new Map<number, Holder>();
  #live = 0;

  constructor(readonly monotonic: () => number) {}

  /** Slots that are reserved right now, all holders'. */
  get live(): number {
    this.#expire();
    return this.#live;
  }

  /** Reserved slots of one holder. */
  reservedBy(holder: Holder): number {
    this.#expire();
    return holder.reserved;
  }

  /** @param jti the approval's id, 32 hex digits */
  reserve(jti: string, holder: Holder): void {
    this.#ring.push(jti, holder.number, this.monotonic() + APPROVAL_LIFETIME_MS);
    if (holder.reserved === 0) this.#holders.set(holder.number, holder);
    holder.reserved++;
    this.#live++;
  }

  /**
   * Marks an approval as redeemed. `unknown` is one whose 60 seconds have passed: nothing else that verifies is not in
   * the queue. The slot stays where it is until `release`.
   */
  redeem(jti: string): Redemption {
    this.#expire();
    const ordinal = this.#ring.find(jti);
    if (ordinal === 0) return "unknown";
    return this.#ring.spend(ordinal) ? "redeemed" : "spent";
  }

  /** Gives the slot of a redeemed approval back, for the running child that takes its place. */
  release(jti: string): void {
    const ordinal = this.#ring.find(jti);
    if (ordinal !== 0) this.#free(ordinal);
  }

  /** Gives back every slot of a holder that ends, however many they are, at once. */
  end(holder: Holder): void {
    this.#live -= holder.reserved;
    holder.reserved = 0;
    this.#holders.delete(holder.number);
  }

  #free(ordinal: number): void {
    if (!this.#ring.free(ordinal)) return;
    const holder = this.#holders.get(this.#ring.holder(ordinal));
    // One that has ended gave all of its slots back then.
    if (!holder) return;
    this.#live--;
    if (--holder.reserved === 0) this.#holders.delete(holder.number);
  }

  #expire(): void {
    const now = this.monotonic();
    for (let oldest = this.#ring.expired(now); oldest !== 0; oldest = this.#ring.expired(now)) {
      this.#free(oldest);
      this.#ring.shift();
    }
  }
}
