/**
 * Slots that a granted approval holds until somebody redeems it, its session ends, or its 60 seconds pass.
 *
 * Every approval lives equally long, so they expire in the order they were made: a queue, no heap and no timer. Time
 * here is the monotonic clock, which no step of the wall clock moves.
 */

import { APPROVAL_LIFETIME_MS } from "../tokens/authority.ts";

/** Who a reserved slot is counted for. */
export interface Holder {
  /** Live reservations, the holder's own. */
  reserved: number;
}

export type Redemption = "unknown" | "spent" | "redeemed";

interface Reservation {
  readonly jti: string;
  readonly holder: Holder;
  /** Monotonic milliseconds. */
  readonly expiry: number;
  spent: boolean;
  /** Whether its slot was given back, or exchanged for the running child. */
  freed: boolean;
}

export class Reservations {
  /** Spent ones too, until they expire: one that is presented again must hear so. */
  readonly #byApproval = new Map<string, Reservation>();
  /** The same in the order they expire, from `#oldest` on. */
  #queue: Reservation[] = [];
  #oldest = 0;
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

  /** @param jti the approval's id, which no other has */
  reserve(jti: string, holder: Holder): void {
    const expiry = this.monotonic() + APPROVAL_LIFETIME_MS;
    const reservation = { jti, holder, expiry, spent: false, freed: false };
    this.#byApproval.set(jti, reservation);
    this.#queue.push(reservation);
    holder.reserved++;
    this.#live++;
  }

  /**
   * Marks an approval as redeemed. `unknown` is one whose 60 seconds have passed: any other one that verifies is here.
   * The slot stays where it is until `release`.
   */
  redeem(jti: string): Redemption {
    this.#expire();
    const reservation = this.#byApproval.get(jti);
    if (!reservation) return "unknown";
    if (reservation.spent) return "spent";
    reservation.spent = true;
    return "redeemed";
  }

  /** Gives the slot of a redeemed approval back, for the running child that takes its place. */
  release(jti: string): void {
    const reservation = this.#byApproval.get(jti);
    if (reservation) this.#free(reservation);
  }

  /** Gives back every slot of a holder that ends, however many they are, at once. */
  end(holder: Holder): void {
    this.#live -= holder.reserved;
    holder.reserved = 0;
  }

  #free(reservation: Reservation): void {
    if (reservation.freed) return;
    reservation.freed = true;
    // A holder that has ended gave all of its slots back then.
    if (reservation.holder.reserved === 0) return;
    reservation.holder.reserved--;
    this.#live--;
  }

  #expire(): void {
    const now = this.monotonic();
    for (;;) {
      const oldest = this.#queue[this.#oldest];
      if (!oldest || oldest.expiry > now) break;
      this.#free(oldest);
      this.#byApproval.delete(oldest.jti);
      this.#oldest++;
    }
    // What has left is cut off once it is half of the queue: each one is moved once, on average.
    if (this.#oldest * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#oldest);
      this.#oldest = 0;
    }
  }
}
