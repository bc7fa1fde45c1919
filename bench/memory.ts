/** How much memory a daemon holds after sessions that ended, and after a load that leaves nothing behind. */

import { CHILD, type Host } from "./host.ts";
import { interleave } from "./interleave.ts";
import { throughputRows } from "./judge.ts";
import { runLoad } from "./load.ts";
import type { Options } from "./options.ts";
import { residentBytes } from "./process-cost.ts";
import { healthRequest, spawnRequest } from "./requests.ts";
import type { Row } from "./row.ts";
import type { Server } from "./server.ts";
import { CONNECTIONS, deregister, finishSessions, register } from "./sessions.ts";
import { floorSubject, GRANTED, grantedSubject } from "./throughput.ts";

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

export function idleRow(before: number, after: number): Row {
  return {
    id: "memory-idle",
    what: "idle memory after a load that leaves no sessions",
    target: "within 10 %",
    unit: "MB",
    median: after / 1e6,
    met: after <= before * 1.1,
    note: `${(before / 1e6).toFixed(1)} MB before it`,
  };
}

/** Memory of finished sessions, and `/spawn` after the largest number of them. */
export async function memoryRows(
  host: Host,
  { floor, fresh }: { readonly floor: Server; readonly fresh: Server },
  options: Options,
  settleMs: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of [options.finished, options.finishedLong].filter((some) => some > 0)) {
    const server = await host.daemon(`memory-${count}`);
    await passingLoad(server, options.warmMs);
    rows.push(await memoryOfSessions(server, count, settleMs));
    if (count !== options.finishedLong) continue;
    const long = grantedSubject(server, {
      id: "spawn-finished-long",
      what: `\`/spawn\` after ${count.toLocaleString("en-US")} sessions have come and gone`,
      target: "within 10 %",
    });
    const beside = grantedSubject(fresh, { id: GRANTED, what: "", target: "" });
    const measured = await interleave([await floorSubject(floor, fresh), beside, long], {
      ...options,
      onRound: () => {},
    });
    rows.push(...throughputRows(measured).filter(({ id }) => id === long.id));
  }
  return rows;
}

/** Lets sessions come and go, and measures what each has left in memory. `settleMs`: how long the daemon then idles. */
async function memoryOfSessions(server: Server, count: number, settleMs: number): Promise<Row> {
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
