/** What the daemon's counts must be, according to its answers. Slots are objects in a list, counted one by one. */

export interface ModelSession {
  readonly id: string;
  readonly credential: string;
  readonly depth: number;
  readonly parent: ModelSession | undefined;
  status: "running" | "complete" | "failed";
}

interface ModelReservation {
  readonly holder: ModelSession;
  /** Monotonic milliseconds: the latest time at which its slot can still be held. */
  readonly until: number;
  redeemed: boolean;
}

const LIFETIME_MS = 60_000;

export class Model {
  readonly sessions: ModelSession[] = [];
  readonly reservations: ModelReservation[] = [];

  register(id: string, credential: string, depth: number, parent?: ModelSession): ModelSession {
    const session: ModelSession = { id, credential, depth, parent, status: "running" };
    this.sessions.push(session);
    return session;
  }

  reserve(holder: ModelSession): ModelReservation {
    const reservation = { holder, until: performance.now() + LIFETIME_MS, redeemed: false };
    this.reservations.push(reservation);
    return reservation;
  }

  /** Slots in use by one session, or by all. */
  live(of?: ModelSession): number {
    const children = this.sessions.filter(
      ({ status, parent }) => status === "running" && (of === undefined || parent === of),
    );
    return children.length + this.held(of).length;
  }

  /** Reservations that may hold a slot now. */
  held(of?: ModelSession): readonly ModelReservation[] {
    const now = performance.now();
    return this.reservations.filter(
      ({ holder, until, redeemed }) =>
        !redeemed && holder.status === "running" && until > now && (of === undefined || holder === of),
    );
  }
}
