/**
 * Reserved slots: a granted approval holds one until it is redeemed, its session ends, or its 60 seconds pass.
 *
 * All approvals live equally long, so they expire in the order they were made, and a queue is enough. Time here is the
 * monotonic clock, so setting the wall clock changes nothing.
 */

import { APPROVAL_LIFETIME_MS } from "../tokens/authority.ts";

/** The session that a reserved slot counts for. */
export interface Holder {
  /** Its live reservations. */
  reserved: number;
}

export type Redemption = "unknown" | "spent" | "redeemed";

interface Reservation {
  /** Absent once its slot was freed, or passed to the running child. */
  holder: Holder | undefined;
  /** Monotonic milliseconds. */
  readonly expiry: number;
  spent: boolean;
}

/**
 * Reservations made within a few seconds. Spent ones stay, so that a second redemption is refused as such. They are all
 * dropped together when the last one has expired. A single large map would cost the garbage collector more: it scans the
 * whole map whenever it grows.
 */
interface Cohort {
  /** Monotonic milliseconds. Later reservations go into the next cohort. */
  readonly until: number;
  readonly byApproval: Map<string, Reservation>;
  /** The same in order of expiry. Those before index `oldest` have expired. */
  readonly queue: Reservation[];
  oldest: number;
}

const COHORT_MS = 5_000;

export class Reservations {
  /** Oldest first. */
  readonly #cohorts: Cohort[] = [];
  #live = 0;

  constructor(readonly monotonic: () => number) {}

  /** Slots reserved right now, by all holders. */
  get live(): number {
    this.#expire();
    return this.#live;
  }

  /** Reserved slots of one holder. */
  reservedBy(holder: Holder): number {
    this.#expire();
    return holder.reserved;
  }

  /** @param jti the approval's unique id */
  reserve(jti: string, holder: Holder): void {
    const now = this.monotonic();
    const reservation = { holder, expiry: now + APPROVAL_LIFETIME_MS, spent: false };
    const cohort = this.#cohortAt(now);
    cohort.byApproval.set(jti, reservation);
    cohort.queue.push(reservation);
    holder.reserved++;
    this.#live++;
  }

  /**
   * Marks an approval as redeemed. `unknown` means that its 60 seconds have passed: every younger approval that verifies
   * is known here. The slot stays reserved until `release`.
   */
  redeem(jti: string): Redemption {
    const reservation = this.#find(jti);
    // An expired reservation stays in its cohort until the whole cohort has expired.
    if (!reservation || reservation.expiry <= this.monotonic()) return "unknown";
    if (reservation.spent) return "spent";
    reservation.spent = true;
    return "redeemed";
  }

  /** Frees the slot of a redeemed approval; the running child takes its place. */
  release(jti: string): void {
    const reservation = this.#find(jti);
    if (reservation) this.#free(reservation);
  }

  /** Frees all slots of a holder that ends, in one step. */
  end(holder: Holder): void {
    this.#live -= holder.reserved;
    holder.reserved = 0;
  }

  #free(reservation: Reservation): void {
    const { holder } = reservation;
    reservation.holder = undefined;
    // A holder that ended has already freed all its slots.
    if (!holder || holder.reserved === 0) return;
    holder.reserved--;
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
