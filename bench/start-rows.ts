/** The time from exec to `listening` on hosts with no, few or many running capsules, and what a full host costs later. */

import { CHILD, type Host } from "./host.ts";
import { runLoad } from "./load.ts";
import { spawnRequest, statusRequest } from "./requests.ts";
import { median, type Row } from "./row.ts";
import { writeSurvivors } from "./running.ts";
import { register } from "./sessions.ts";

export async function measureStarts(
  host: Host,
  options: { readonly records: number; readonly liveRecords: number; readonly repeats: number },
): Promise<Row[]> {
  const count = (records: number) => records.toLocaleString("en-US");
  const { records, liveRecords, repeats } = options;
  const cases = [
    { id: "start-empty", what: "an empty host", records: 0, live: 0, within: 40 },
    { id: "start-stale", what: `${count(records)} stale records`, records, live: 0, within: 250 },
    {
      id: "start-live",
      what: `${count(liveRecords)} live ones`,
      records: liveRecords,
      live: liveRecords,
      within: 100,
    },
  ];
  for (const one of cases) writeSurvivors(host.home(one.id), one);
  const taken = new Map<string, number[]>(cases.map(({ id }) => [id, []]));
  // The first round does not count. It puts every file into the page cache.
  for (let repeat = -1; repeat < repeats; repeat++) {
    for (const { id } of cases) {
      const server = await host.daemon(id, { home: host.home(id) });
      await server.stop();
      if (repeat >= 0) taken.get(id)?.push(server.listeningAfterMs);
    }
  }
  return cases.map(({ id, what, within }) => {
    const times = taken.get(id) ?? [];
    return {
      id,
      what: `exec to \`listening\`, ${what}`,
      target: `${within} ms`,
      unit: "ms",
      median: median(times),
      p99Ms: Math.max(...times),
      met: median(times) <= within,
    };
  });
}

/** `/status` and `/spawn` by one client on a host with many records. */
export async function measureFullHost(
  host: Host,
  options: { readonly records: number; readonly liveRecords: number; readonly sliceMs: number },
): Promise<Row[]> {
  const home = host.home("full-host");
  writeSurvivors(home, { records: options.records, live: options.liveRecords });
  const server = await host.daemon("full-host", { home });
  const session = await register(server);
  const rows: Row[] = [];
  const requests = { status: statusRequest(session.id), spawn: spawnRequest(session.credential, CHILD) };
  for (const [name, request] of Object.entries(requests)) {
    const load = { port: server.port, connections: 1, expect: 200, next: () => request };
    await runLoad({ ...load, forMs: options.sliceMs });
    const { latencies, answers, seconds } = await runLoad({ ...load, forMs: options.sliceMs * 3 });
    rows.push({
      id: `full-host-${name}`,
      what: `\`/${name}\`, ${options.records.toLocaleString("en-US")} startup records, ${options.liveRecords.toLocaleString("en-US")} of them live, one client`,
      target: "< 5 ms",
      unit: "/s",
      median: answers / seconds,
      p50Ms: latencies.at(0.5),
      p99Ms: latencies.at(0.99),
      met: latencies.at(0.99) < 5,
    });
  }
  await server.stop();
  return rows;
}
