/** How much memory a daemon holds after sessions that ended, and after a load that leaves nothing behind. */

import { CHILD } from "./host.ts";
import { runLoad } from "./load.ts";
import { residentBytes } from "./process-cost.ts";
import { healthRequest, spawnRequest } from "./requests.ts";
import type { Row } from "./row.ts";
import type { Server } from "./server.ts";
import { CONNECTIONS, deregister, finishSessions, register } from "./sessions.ts";

/** The lowest reading in some time without requests, because an idle runtime gives memory back. */
export async function idleBytes(server: Server, forMs: number): Promise<number> {
  let lowest = residentBytes(server.pid);
  for (let waited = 0; waited < forMs; waited += 250) {
    await Bun.sleep(250);
    lowest = Math.min(lowest, residentBytes(server.pid));
  }
  return lowest;
}

/** A load that ends with nothing registered: grants of a session that then retires, and `/health`. */
export async function passingLoad(server: Server, forMs: number): Promise<void> {
  const { port } = server;
  const session = await register(server);
  const requests = [healthRequest(), spawnRequest(session.credential, CHILD)];
  for (const request of requests) {
    await runLoad({ port, connections: CONNECTIONS, expect: 200, forMs: forMs / 2, next: () => request });
  }
  await deregister(server, session);
}

/** Lets sessions come and go, and measures what each has left in memory. `settleMs`: how long the daemon then idles. */
export async function memoryOfSessions(server: Server, count: number, settleMs: number): Promise<Row> {
  const before = await idleBytes(server, settleMs);
  await finishSessions(server, count);
  const after = await idleBytes(server, settleMs);
  const perSession = (after - before) / count;
  return {
    id: `memory-${count}`,
    what: `memory kept of each of ${count.toLocaleString("en-US")} finished sessions`,
    target: count >= 1_000_000 ? "250 bytes" : "",
    unit: "bytes",
    median: perSession,
    met: count >= 1_000_000 ? perSession <= 250 : undefined,
    note: `${(before / 1e6).toFixed(0)} MB before, ${(after / 1e6).toFixed(0)} MB after`,
  };
}
