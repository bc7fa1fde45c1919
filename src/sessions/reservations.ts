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
  readonly holder: Holder;
  /** Monotonic milliseconds. */
  readonly expiry: number;
  spent: boolean;
  /** Whether its slot was given back, or exchanged for the running child. */
  freed: boolean;
}

/**
 * Reservations of a few seconds, spent ones too: one that is presented again must hear so. They are forgotten together,
 * when the last of them has expired. One map for all would be searched by the garbage collector whole whenever it grew.
 */
interface Cohort {
  /** Monotonic milliseconds: what is reserved later goes into the next cohort. */
  readonly until: number;
  readonly byApproval: Map<string, Reservation>;
  /** The same in the order they expire; before `oldest` they have. */
  readonly queue: Reservation[];
  oldest: number;
}

const COHORT_MS = 5_000;

export class Reservations {
  /** Oldest first. */
  readonly #cohorts: Cohort[] = [];
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
    const now = this.monotonic();
    const reservation = { holder, expiry: now + APPROVAL_LIFETIME_MS, spent: false, freed: false };
    const cohort = this.#cohortAt(now);
    cohort.byApproval.set(jti, reservation);
    cohort.queue.push(reservation);
    holder.reserved++;
    this.#live++;
  }

  /**
   * Marks an approval as redeemed. `unknown` is one whose 60 seconds have passed: any other one that verifies is here.
   * The slot stays where it is until `release`.
   */
  redeem(jti: string): Redemption {
    const reservation = this.#find(jti);
    // One that has expired stays in its cohort until the last of them has.
    if (!reservation || reservation.expiry <= this.monotonic()) return "unknown";
    if (reservation.spent) return "spent";
    reservation.spent = true;
    return "redeemed";
  }

  /** Gives the slot of a redeemed approval back, for the running child that takes its place. */
  release(jti: string): void {
    const reservation = this.#find(jti);
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

  #find(jti: string): Reservation | undefined {
    for (const { byApproval } of this.#cohorts) {
      const reservation = byApproval.get(jti);
      if (reservation) return reservation;
    }
    return undefined;
  }

  #cohortAt(now: number): Cohort {
    const last = this.#cohorts.at(-1);
    if (last && now < last.until) return last;
    const cohort = { until: now + COHORT_MS, byApproval: new Map(), queue: [], oldest: 0 };
    this.#cohorts.push(cohort);
    return cohort;
  }

  #expire(): void {
    const now = this.monotonic();
    for (let cohort = this.#cohorts[0]; cohort; cohort = this.#cohorts[0]) {
      for (let oldest = cohort.queue[cohort.oldest]; oldest; oldest = cohort.queue[++cohort.oldest]) {
        if (oldest.expiry > now) return;
        this.#free(oldest);
      }
      this.#cohorts.shift();
    }
  }
}
