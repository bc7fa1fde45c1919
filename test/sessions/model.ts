/** A session store that is slow and obvious: every count is made anew from a list of everything that ever happened. */

import type { Outcome } from "../../src/sessions/finished-sessions.ts";
import type { Redemption, SessionId, SessionStatus, Sessions } from "../../src/sessions/sessions.ts";
import { APPROVAL_LIFETIME_MS } from "../../src/tokens/authority.ts";

export interface ModelSession {
  readonly id: SessionId;
  readonly parent?: SessionId;
  readonly depth: number;
  status: SessionStatus;
}

export interface ModelGrant {
  readonly jti: string;
  readonly parent: SessionId;
  readonly at: number;
  spent: boolean;
  /** Whether a running child took its slot. */
  taken: boolean;
}

export class Model {
  now = 0;
  readonly sessions: ModelSession[] = [];
  readonly grants: ModelGrant[] = [];
  readonly #byId = new Map<string, ModelSession>();

  find(id: string): ModelSession | undefined {
    return this.#byId.get(id);
  }

  add(session: ModelSession): void {
    this.sessions.push(session);
    this.#byId.set(session.id, session);
  }

  grant(parent: SessionId): ModelGrant {
    const jti = String(this.grants.length).padStart(32, "0");
    const grant = { jti, parent, at: this.now, spent: false, taken: false };
    this.grants.push(grant);
    return grant;
  }

  redeem(grant: ModelGrant): Redemption {
    if (this.#hasExpired(grant)) return "unknown";
    if (grant.spent) return "spent";
    grant.spent = true;
    return "redeemed";
  }

  finish(session: ModelSession, outcome: Outcome): void {
    if (session.status === "running") session.status = outcome;
  }

  /** Children of each session that has any: those that run, and slots that are reserved. */
  children(): Map<string, number> {
    const counts = new Map<string, number>();
    const count = (parent: string) => counts.set(parent, (counts.get(parent) ?? 0) + 1);
    for (const { parent, status } of this.sessions) if (parent && status === "running") count(parent);
    for (const grant of this.grants) if (this.#isReserved(grant)) count(grant.parent);
    return counts;
  }

  live(): number {
    const running = this.sessions.filter(({ status }) => status === "running");
    return running.length + this.grants.filter((grant) => this.#isReserved(grant)).length;
  }

  #isReserved(grant: ModelGrant): boolean {
    return !grant.taken && !this.#hasExpired(grant) && this.find(grant.parent)?.status === "running";
  }

  #hasExpired(grant: ModelGrant): boolean {
    return grant.at + APPROVAL_LIFETIME_MS <= this.now;
  }
}

/** What everybody can see of a session store, as text: two that agree have the same. */
export function seen(sessions: Sessions<string>, model: Model): string {
  const of = ({ id }: ModelSession) => {
    const figures = sessions.figures(id);
    const runs = sessions.running(id) !== undefined;
    const known = sessions.has(id);
    return `${figures?.status} ${figures?.depthRemaining} ${figures?.liveChildren} ${sessions.liveChildren(id)} ${runs} ${known}`;
  };
  return `${sessions.live}\n${model.sessions.map(of).join("\n")}`;
}

/** The same as it must be. */
export function expected(model: Model): string {
  const children = model.children();
  const of = ({ id, status, depth }: ModelSession) => {
    const count = children.get(id) ?? 0;
    const runs = status === "running";
    return `${status} ${depth} ${count} ${count} ${runs} true`;
  };
  return `${model.live()}\n${model.sessions.map(of).join("\n")}`;
}
