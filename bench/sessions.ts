/** What the bench does with a daemon's sessions: one at a time to prepare a row, and many at once to leave a history. */

import { CHILD, PARENT } from "./host.ts";
import { type LoadResult, repeated, runLoad } from "./load.ts";
import { deregisterRequest, registerRequest, spawnRequest, statusRequest } from "./requests.ts";
import type { Server } from "./server.ts";

/** How many connections a row uses by default. */
export const CONNECTIONS = 16;

let minted = 0;

/** As a runtime mints them: `ses_` and 32 hex digits. */
export function newSessionId(): string {
  return `ses_01a000c58eae7ca0${(minted++).toString(16).padStart(16, "0")}`;
}

export interface Session {
  readonly id: string;
  readonly credential: string;
}

/** One request and its answer, not measured. */
export async function ask(
  server: Server,
  request: Uint8Array,
  expect = 200,
): Promise<Record<string, unknown>> {
  let answer = "";
  await runLoad({
    port: server.port,
    connections: 1,
    expect,
    next: repeated(request, 1),
    onAnswer: (_, body) => {
      answer = body;
    },
  });
  return JSON.parse(answer);
}

/** Registers a session on the top-level path, or under an approval. */
export async function register(server: Server, approval?: string): Promise<Session> {
  const id = newSessionId();
  const capsule = approval === undefined ? PARENT : CHILD;
  const { credential } = await ask(server, registerRequest(id, capsule, approval));
  return { id, credential: String(credential) };
}

export async function deregister(server: Server, { credential }: Session): Promise<void> {
  await ask(server, deregisterRequest(credential));
}

/** Has `count` spawns granted to a session. Returns their approvals, in any order. */
export async function spawnMany(server: Server, session: Session, count: number): Promise<string[]> {
  const request = spawnRequest(session.credential, CHILD);
  const approvals: string[] = [];
  await runLoad({
    port: server.port,
    connections: CONNECTIONS,
    expect: 200,
    next: repeated(request, count),
    onAnswer: (_, body) => void approvals.push(JSON.parse(body).approval),
  });
  return approvals;
}

/** How many slots a session holds now. */
export async function liveChildren(server: Server, { id }: Session): Promise<number> {
  return Number((await ask(server, statusRequest(id))).live_children);
}

/** Spawns until the session holds `count` slots. */
export async function holdReservations(server: Server, session: Session, count: number): Promise<void> {
  const missing = count - (await liveChildren(server, session));
  if (missing > 0) await spawnMany(server, session, missing);
}

/**
 * Sessions that come and go: each connection registers one, then retires it, and so on.
 *
 * @param options.registration the next registration's bytes; `undefined` if there is none left
 */
export function runPairs(
  server: Server,
  options: { readonly registration: () => Uint8Array | undefined; readonly forMs?: number },
): Promise<LoadResult> {
  const credentials: (string | undefined)[] = [];
  return runLoad({
    port: server.port,
    connections: CONNECTIONS,
    expect: 200,
    ...(options.forMs !== undefined && { forMs: options.forMs }),
    next: (connection) => {
      const credential = credentials[connection];
      return credential === undefined ? options.registration() : deregisterRequest(credential);
    },
    onAnswer: (connection, body) => {
      credentials[connection] =
        credentials[connection] === undefined ? JSON.parse(body).credential : undefined;
    },
  });
}

/** Lets `count` sessions come and go on the top-level path. */
export async function finishSessions(server: Server, count: number): Promise<void> {
  let left = count;
  await runPairs(server, {
    registration: () => (left-- > 0 ? registerRequest(newSessionId(), PARENT) : undefined),
  });
}
