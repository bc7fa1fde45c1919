/**
 * Who is registered, how much each may still delegate, and how many capsules this daemon has live.
 *
 * Each count is updated with every event and never recomputed. A granted approval holds a slot until it is redeemed, its
 * session ends, or its 60 seconds pass. A finished session keeps its outcome and its depth for as long as the daemon runs,
 * so its id can never be used again. It keeps the number of its children until none runs.
 */

import { APPROVAL_LIFETIME_MS } from "../tokens/authority.ts";
import { FinishedSessions, type Outcome } from "./finished-sessions.ts";

/** A session's own id, as its runtime minted it: 1 to 256 characters of `A-Z a-z 0-9 _ . : -`. */
export type SessionId = string & { readonly __brand: "SessionId" };

export type SessionStatus = "running" | Outcome;

/** A running session, as its credential names it. */
export interface RunningSession<Held> {
  readonly id: SessionId;
  /** Levels of delegation available below it. */
  readonly depth: number;
  /** What it held when it registered. */
  readonly held: Held;
}

/** A session that is running, or has running children. */
interface Session<Held> {
  readonly id: SessionId;
  readonly depth: number;
  status: SessionStatus;
  /** Absent once it has ended: what it held is large, and its children may run on for long. */
  running: RunningSession<Held> | undefined;
  /** Its children that have registered and not yet retired. */
  runningChildren: number;
  /** The slots reserved for its approved children. */
  reserved: number;
  /** The session it counts for. Absent at the top level, and once it has ended. */
  parent: Session<Held> | undefined;
}

interface SessionFigures {
  readonly status: SessionStatus;
  readonly depthRemaining: number;
  readonly liveChildren: number;
}

export type Redemption = "unknown" | "spent" | "redeemed";

/** What a granted approval holds. */
interface Reservation<Held> {
  /** The session whose slot it is. Absent once the slot was freed, or passed to the running child. */
  holder: Session<Held> | undefined;
  /** Monotonic milliseconds. */
  readonly expiry: number;
  spent: boolean;
}

/**
 * Reservations made within a few seconds. Spent ones stay, so that a second redemption is refused as such. They are all
 * dropped together when the last one has expired. A single large map would cost the garbage collector more: it scans the
 * whole map whenever it grows.
 */
interface Cohort<Held> {
  /** Monotonic milliseconds. Later reservations go into the next cohort. */
  readonly until: number;
  readonly byApproval: Map<string, Reservation<Held>>;
  /**
   * The same, as they were made. All approvals live equally long, so they expire in this order; those before index `oldest`
   * have.
   */
  readonly queue: Reservation<Held>[];
  oldest: number;
}

const COHORT_MS = 5_000;

export class Sessions<Held> {
  readonly #sessions = new Map<string, Session<Held>>();
  readonly #finished = new FinishedSessions();
  /** Oldest first. */
  readonly #cohorts: Cohort<Held>[] = [];
  /** Sessions that run. */
  #running = 0;
  /** Slots that are reserved, those that have expired since the last `#expire` included. */
  #reserved = 0;

  /** @param monotonic milliseconds that never go back, so setting the wall clock changes nothing */
  constructor(readonly monotonic: () => number) {}

  /** Whether the id was ever used with this daemon. */
  has(id: string): boolean {
    return this.#sessions.has(id) || this.#finished.find(id) !== undefined;
  }

  running(id: string): RunningSession<Held> | undefined {
    return this.#sessions.get(id)?.running;
  }

  figures(id: string): SessionFigures | undefined {
    const session = this.#sessions.get(id);
    if (session) {
      return { status: session.status, depthRemaining: session.depth, liveChildren: this.#children(session) };
    }
    const finished = this.#finished.find(id);
    return finished && { status: finished.status, depthRemaining: finished.depth, liveChildren: 0 };
  }

  /** Children a session holds: running ones, and slots reserved for approved ones. 0 for an id that is unknown. */
  liveChildren(id: string): number {
    const session = this.#sessions.get(id);
    return session ? this.#children(session) : 0;
  }

  /** Sessions that run, and slots that are reserved, across every formation. */
  get live(): number {
    this.#expire();
    return this.#running + this.#reserved;
  }

  /** Adds a running top-level session. The id must be new. */
  addRoot(id: SessionId, depth: number, held: Held): void {
    this.#add(id, depth, held, undefined);
  }

  /** Reserves a slot under a running session for the child that the approval `jti` names. */
  reserve(parent: SessionId, jti: string): void {
    const holder = this.#runningSession(parent);
    if (!holder) return;
    const now = this.monotonic();
    const reservation = { holder, expiry: now + APPROVAL_LIFETIME_MS, spent: false };
    const cohort = this.#cohortAt(now);
    cohort.byApproval.set(jti, reservation);
    cohort.queue.push(reservation);
    holder.reserved++;
    this.#reserved++;
  }

  /**
   * Marks an approval as redeemed. `unknown` means that its 60 seconds have passed: every younger approval that verifies
   * is known here. Its slot stays reserved until `addChild`.
   */
  redeem(jti: string): Redemption {
    const reservation = this.#reservation(jti);
    // An expired reservation stays in its cohort until the whole cohort has expired.
    if (!reservation || reservation.expiry <= this.monotonic()) return "unknown";
    if (reservation.spent) return "spent";
    reservation.spent = true;
    return "redeemed";
  }

  /** Exchanges a redeemed approval's slot for the running child. The parent must run, the id must be new. */
  addChild(id: SessionId, depth: number, held: Held, parent: SessionId, jti: string): void {
    const above = this.#sessions.get(parent);
    const reservation = this.#reservation(jti);
    if (reservation) this.#free(reservation);
    this.#add(id, depth, held, above);
    if (above) above.runningChildren++;
  }

  /** Retires a running session, and frees its slot and, in one step, every slot it had reserved. */
  finish(id: SessionId, outcome: Outcome): void {
    const session = this.#runningSession(id);
    if (!session) return;
    const { parent } = session;
    this.#running--;
    this.#reserved -= session.reserved;
    session.reserved = 0;
    session.status = outcome;
    session.parent = undefined;
    session.running = undefined;
    this.#archive(session);
    if (!parent) return;
    parent.runningChildren--;
    this.#archive(parent);
  }

  #runningSession(id: string): Session<Held> | undefined {
    const session = this.#sessions.get(id);
    return session?.running && session;
  }

  #children(session: Session<Held>): number {
    this.#expire();
    return session.runningChildren + session.reserved;
  }

  #add(id: SessionId, depth: number, held: Held, parent: Session<Held> | undefined): void {
    const running = { id, depth, held };
    this.#sessions.set(id, {
      id,
      depth,
      running,
      parent,
      status: "running",
      runningChildren: 0,
      reserved: 0,
    });
    this.#running++;
  }

  /** Moves a session to the finished ones once nothing about it can change. */
  #archive({ id, status, depth, runningChildren }: Session<Held>): void {
    if (status === "running" || runningChildren > 0) return;
    this.#sessions.delete(id);
    this.#finished.add(id, { status, depth });
  }

  #reservation(jti: string): Reservation<Held> | undefined {
    for (const { byApproval } of this.#cohorts) {
      const reservation = byApproval.get(jti);
      if (reservation) return reservation;
    }
    return undefined;
  }

  #cohortAt(now: number): Cohort<Held> {
    const last = this.#cohorts.at(-1);
    if (last && now < last.until) return last;
    const cohort = { until: now + COHORT_MS, byApproval: new Map(), queue: [], oldest: 0 };
    this.#cohorts.push(cohort);
    return cohort;
  }

  /** Frees the slots whose 60 seconds have passed. */
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

  #free(reservation: Reservation<Held>): void {
    const { holder } = reservation;
    reservation.holder = undefined;
    // A holder that ended has already freed all its slots.
    if (!holder || holder.reserved === 0) return;
    holder.reserved--;
    this.#reserved--;
  }
}
