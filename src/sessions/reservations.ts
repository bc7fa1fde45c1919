/**
 * Slots that a granted approval holds until somebody redeems it, its session ends, or its 60 seconds pass.
 *
 * Every approval lives equally long, so they expire in the order they were made: a queue, no heap and no timer. Time
 * here is the monotonic clock, which no step of the wall clock moves.
 */

import { APPROVAL_LIFETIME_MS } from "../tokens/authority.ts";

/** Who a reserved slot is counted for. Its count is released all at once when the holder ends. */
export interface Holder {
  /** Live reservations, the holder's own. */
  reserved: number;
  /** Set once, when the session ends. */
  ended: boolean;
}

interface Reservation<H extends Holder> {
  readonly jti: string;
  readonly holder: H;
  /** Monotonic milliseconds at which its approval has expired. */
  readonly expiresAt: number;
  spent: boolean;
  /** Whether it still occupies a slot. */
  held: boolean;
}

export type Redemption = "unknown" | "spent" | "redeemed";

export class Reservations<H extends Holder> {
  readonly #byJti = new Map<string, Reservation<H>>();
  #queue: Reservation<H>[] = [];
  /** Index of the oldest reservation in the queue. */
  #head = 0;
  #live = 0;

  constructor(readonly monotonic: () => number) {}

  /** Slots that are reserved right now, all holders'. */
  get live(): number {
    this.#expire();
    return this.#live;
  }

  /** Reserved slots of one holder. */
  reservedBy(holder: H): number {
    this.#expire();
    return holder.reserved;
  }

  reserve(jti: string, holder: H): void {
    const expiresAt = this.monotonic() + APPROVAL_LIFETIME_MS;
    const reservation = { jti, holder, expiresAt, spent: false, held: true };
    this.#byJti.set(jti, reservation);
    this.#queue.push(reservation);
    holder.reserved++;
    this.#live++;
  }

  /**
   * Marks an approval as redeemed. `unknown` is one whose 60 seconds have passed: nothing else that verifies is not in
   * the queue. The slot stays where it is until `release`.
   */
  redeem(jti: string): Redemption {
    this.#expire();
    const reservation = this.#byJti.get(jti);
    if (!reservation) return "unknown";
    if (reservation.spent) return "spent";
    reservation.spent = true;
    return "redeemed";
  }

  /** Gives the slot of a redeemed approval back, for the running child that takes its place. */
  release(jti: string): void {
    const reservation = this.#byJti.get(jti);
    if (reservation) this.#free(reservation);
  }

  /** Gives back every slot of a holder that ends, however many they are, at once. */
  end(holder: H): void {
    this.#live -= holder.reserved;
    holder.reserved = 0;
    holder.ended = true;
  }

  #free(reservation: Reservation<H>): void {
    if (!reservation.held) return;
    reservation.held = false;
    if (reservation.holder.ended) return;
    reservation.holder.reserved--;
    this.#live--;
  }

  #expire(): void {
    const now = this.monotonic();
    for (let next = this.#queue[this.#head]; next && next.expiresAt <= now; next = this.#queue[this.#head]) {
      this.#byJti.delete(next.jti);
      this.#free(next);
      this.#head++;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }
}
