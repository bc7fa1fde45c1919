/**
 * Who is registered, how much each may still delegate, and how many capsules this daemon has live.
 *
 * Each count is updated with every event and never recomputed. A finished session keeps its outcome, its depth and the
 * number of its running children for as long as the daemon runs, so its id can never be used again.
 */

import { type Ending, FinishedSessions } from "./finished-sessions.ts";
import { type Holder, type Redemption, Reservations } from "./reservations.ts";

/** A session's own id, as its runtime minted it: 1 to 256 characters of `A-Z a-z 0-9 _ . : -`. */
export type SessionId = string & { readonly __brand: "SessionId" };

export type SessionStatus = "running" | Ending;

/** A running session, as its credential names it. */
export interface RunningSession<Held> {
  readonly id: SessionId;
  /** Levels of delegation available below it. */
  readonly depth: number;
  /** What it held when it registered. */
  readonly held: Held;
}

/** A session that is running, or has running children. */
interface Session<Held> extends RunningSession<Held>, Holder {
  status: SessionStatus;
  /** Its children that have registered and not yet retired. */
  runningChildren: number;
  /** The session it counts for. Absent at the top level, and once it has ended. */
  parent: Session<Held> | undefined;
}

interface SessionFigures {
  readonly status: SessionStatus;
  readonly depthRemaining: number;
  readonly liveChildren: number;
}

export class Sessions<Held> {
  readonly #sessions = new Map<string, Session<Held>>();
  readonly #finished = new FinishedSessions();
  readonly #reservations: Reservations;
  #runningCount = 0;

  /** @param monotonic milliseconds that never go back */
  constructor(monotonic: () => number) {
    this.#reservations = new Reservations(monotonic);
  }

  /** Whether the id was ever used with this daemon. */
  has(id: string): boolean {
    return this.#sessions.has(id) || this.#finished.find(id) !== undefined;
  }

  running(id: string): RunningSession<Held> | undefined {
    return this.#running(id);
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
    return this.#runningCount + this.#reservations.live;
  }

  /** Adds a running top-level session. The id must be new. */
  addRoot(id: SessionId, depth: number, held: Held): void {
    this.#add(id, depth, held, undefined);
  }

  /** Reserves a slot under a running session for the child that the approval `jti` names. */
  reserve(parent: SessionId, jti: string): void {
    const session = this.#running(parent);
    if (session) this.#reservations.reserve(jti, session);
  }

  /** Marks an approval as redeemed; see `Reservations.redeem`. */
  redeem(jti: string): Redemption {
    return this.#reservations.redeem(jti);
  }

  /** Exchanges a redeemed approval's slot for the running child. The parent must run, the id must be new. */
  addChild(id: SessionId, depth: number, held: Held, parent: SessionId, jti: string): void {
    const above = this.#sessions.get(parent);
    this.#reservations.release(jti);
    this.#add(id, depth, held, above);
    if (above) above.runningChildren++;
  }

  /** Retires a running session, and frees its slot and every slot it had reserved. */
  finish(id: SessionId, outcome: Ending): void {
    const session = this.#running(id);
    if (!session) return;
    const { parent } = session;
    this.#reservations.end(session);
    this.#runningCount--;
    session.status = outcome;
    session.parent = undefined;
    this.#archive(session);
    if (!parent) return;
    parent.runningChildren--;
    this.#archive(parent);
  }

  #running(id: string): Session<Held> | undefined {
    const session = this.#sessions.get(id);
    return session?.status === "running" ? session : undefined;
  }

  /** Moves a session to the finished ones once nothing about it can change. */
  #archive({ id, status, depth, runningChildren }: Session<Held>): void {
    if (status === "running" || runningChildren > 0) return;
    this.#sessions.delete(id);
    this.#finished.add(id, { status, depth });
  }

  #children(session: Session<Held>): number {
    return session.runningChildren + this.#reservations.reservedBy(session);
  }

  #add(id: SessionId, depth: number, held: Held, parent: Session<Held> | undefined): void {
    this.#sessions.set(id, { id, depth, held, parent, status: "running", runningChildren: 0, reserved: 0 });
    this.#runningCount++;
  }
}
