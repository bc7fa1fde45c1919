/** One client of a soak: plays formations one after another, and sometimes misbehaves as a broken client would. */

import { connect } from "node:net";
import { Latencies } from "../../bench/latencies.ts";
import { MAX_DEPTH, publish, VERSION } from "./daemon.ts";
import { Model, type ModelSession } from "./model.ts";

export interface SoakContext {
  readonly port: number;
  readonly model: Model;
  readonly tally: Tally;
  /** How many more sessions may be killed: each holds its slot until the daemon ends. */
  killable: number;
  /** Replaces the bytes of the artifact `local/volatile`. */
  readonly republish: () => Promise<void>;
}

interface Tally {
  requests: number;
  refusals: number;
  faults: number;
  killed: number;
  formations: number;
  /** Answers that the API does not allow, and requests without an answer. There should be none. */
  unexpected: string[];
  readonly latencies: Latencies;
}

export function soakContext(home: string, port: number, killable: number): SoakContext {
  let edition = 0;
  return {
    port,
    model: new Model(),
    tally: {
      requests: 0,
      refusals: 0,
      faults: 0,
      killed: 0,
      formations: 0,
      unexpected: [],
      latencies: new Latencies(),
    },
    killable,
    republish: () => publish(home, "volatile", "  env: {allow: []}\n", { edition: String(edition++) }),
  };
}

/** A request without an answer after this long counts as lost. */
const LOST_AFTER_MS = 30_000;

type Answer = { readonly status: number; readonly body: Record<string, unknown> };

export async function ask(context: SoakContext, path: string, body: unknown, headers = {}): Promise<Answer> {
  const { tally } = context;
  tally.requests++;
  const asked = performance.now();
  const response = await fetch(`http://127.0.0.1:${context.port}${path}`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(LOST_AFTER_MS),
  });
  const answer = { status: response.status, body: (await response.json()) as Record<string, unknown> };
  tally.latencies.add(performance.now() - asked);
  if (response.status !== 200) tally.refusals++;
  return answer;
}

export function expectStatus(context: SoakContext, what: string, answer: Answer, ...allowed: number[]): void {
  if (!allowed.includes(answer.status)) {
    context.tally.unexpected.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

/** Plays until `end`, on the monotonic clock. What is thrown is a request without an answer. */
export async function playUntil(
  { tally }: SoakContext,
  end: number,
  play: () => Promise<void>,
): Promise<void> {
  while (performance.now() < end) {
    await play().catch((error: unknown) => tally.unexpected.push(`lost: ${String(error)}`));
  }
}

let serial = 0;

/** Plays one formation to its end. */
export async function playFormation(context: SoakContext): Promise<void> {
  const { model, tally } = context;
  tally.formations++;
  const id = `ses_${++serial}`;
  const answer = await ask(context, "/register", { session_id: id, name: "local/parent", version: VERSION });
  expectStatus(context, "root", answer, 200);
  if (answer.status !== 200) return;
  const root = model.register(id, String(answer.body.credential), MAX_DEPTH);
  await delegate(context, root);
  if (Math.random() < 0.3) await injectFault(context);
  await end(context, root);
}

async function delegate(context: SoakContext, parent: ModelSession): Promise<void> {
  const { model } = context;
  const children: ModelSession[] = [];
  for (let wanted = Math.floor(Math.random() * 5); wanted > 0; wanted--) {
    const name = pick(["local/parent", "local/child", "local/child", "local/volatile", "local/greedy"]);
    const headers = { "x-murmur-spawn-credential": parent.credential };
    const granted = await ask(context, "/spawn", { name, version: VERSION }, headers);
    expectStatus(context, `spawn ${name}`, granted, 200, 403, ...midway(name, granted));
    if (granted.status !== 200) continue;
    const reservation = model.reserve(parent);
    // Abandon the approval: its slot is free after a minute, or when its parent ends.
    if (Math.random() < 0.1) continue;
    if (isReplaced(name) && Math.random() < 0.5) {
      context.tally.faults++;
      void context.republish();
    }
    const approval = { "x-murmur-spawn-approval": String(granted.body.approval) };
    const id = `ses_${++serial}`;
    const redeemed = await ask(context, "/register", { session_id: id, name, version: VERSION }, approval);
    expectStatus(
      context,
      `register ${name}`,
      redeemed,
      200,
      ...(isReplaced(name) ? [403] : []),
      ...midway(name, redeemed),
    );
    if (redeemed.status !== 200) continue;
    reservation.redeemed = true;
    const child = model.register(id, String(redeemed.body.credential), parent.depth - 1, parent);
    children.push(child);
    if (Math.random() < 0.1) {
      const twin = await ask(
        context,
        "/register",
        { session_id: `${id}_twin`, name, version: VERSION },
        approval,
      );
      expectStatus(context, "replay", twin, 403, ...midway(name, twin));
    }
    if (name === "local/parent") await delegate(context, child);
  }
  for (const child of children) await end(context, child);
}

const isReplaced = (name: string) => name === "local/volatile";

/** An artifact's two files are replaced one after the other. A request in between may get a 500 that says so. */
function midway(name: string, { status, body }: Answer): number[] {
  const told = /names another hash|changed while it was being read/.test(String(body.error));
  return isReplaced(name) && status === 500 && told ? [500] : [];
}

/** Retires a session, or kills it without telling the daemon. */
async function end(context: SoakContext, session: ModelSession): Promise<void> {
  const { tally } = context;
  if (context.killable > 0 && Math.random() < 0.01) {
    context.killable--;
    tally.killed++;
    return;
  }
  const outcome = Math.random() < 0.8 ? "complete" : "failed";
  const headers = { "x-murmur-spawn-credential": session.credential };
  const answer = await ask(context, "/deregister", { outcome }, headers);
  expectStatus(context, "deregister", answer, 200);
  session.status = outcome;
  const again = await ask(context, "/deregister", { outcome }, headers);
  expectStatus(context, "deregister again", again, 403);
}

const BROKEN = [
  "",
  "G",
  "\u0000\u0001\u0002",
  "POST /spawn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
  "POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  `GET /${"y".repeat(40_000)} HTTP/1.1\r\n`,
  "GET /health HTTP/1.1\r\nHost: evil.example\r\nOrigin: null\r\n\r\n",
  "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(50),
];

async function injectFault(context: SoakContext): Promise<void> {
  const { tally, port } = context;
  tally.faults++;
  switch (Math.floor(Math.random() * 3)) {
    case 0:
      // A connection that breaks off at any point.
      await new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(pick(BROKEN), () => (Math.random() < 0.5 ? socket.resetAndDestroy() : socket.end()));
        });
        socket.on("data", () => {});
        socket.on("error", () => resolve());
        socket.on("close", () => resolve());
        setTimeout(() => socket.destroy(), 500);
      });
      return;
    case 1: {
      const large = await ask(context, "/spawn", "x".repeat(70_000));
      expectStatus(context, "large body", large, 413);
      return;
    }
    default: {
      const forged = { "x-murmur-spawn-credential": "msc1.eyJ2IjoxfQ.AAAA" };
      const refused = await ask(context, "/spawn", { name: "local/child", version: VERSION }, forged);
      expectStatus(context, "forged credential", refused, 403);
    }
  }
}

function pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T;
}
