/** The whole bench, phase by phase. Each phase says what it does before it starts. */

import type { Built } from "./build.ts";
import { eventCases, measureEvent } from "./events.ts";
import { type Curves, measureCurves } from "./flatness.ts";
import { createHost, type Host } from "./host.ts";
import { interleave } from "./interleave.ts";
import { throughputRows } from "./judge.ts";
import { measureManifests } from "./manifests.ts";
import { idleBytes, idleRow, memoryRows, passingLoad } from "./memory.ts";
import type { Options } from "./options.ts";
import type { Row } from "./row.ts";
import { endSurvivors } from "./running.ts";
import type { Server } from "./server.ts";
import { measureFullHost, measureStarts } from "./start-rows.ts";
import { throughputSubjects } from "./throughput.ts";

interface Results {
  readonly rows: readonly Row[];
  readonly curves: Curves;
}

/** Runs every row. When it settles, all its processes have ended and all its files are deleted. */
export async function runBench(
  built: Pick<Built, "daemon" | "floor">,
  options: Options,
  say: (line: string) => void,
): Promise<Results> {
  const host = await createHost(built.daemon);
  try {
    return await phases(host, built.floor, options, say);
  } finally {
    await host.stopAll();
    await endSurvivors();
    host.remove();
  }
}

async function phases(
  host: Host,
  floorExecutable: string,
  options: Options,
  say: (line: string) => void,
): Promise<Results> {
  const settleMs = Math.min(3000, options.warmMs * 2);
  say("starting up: empty, stale and live hosts");
  const starts = await measureStarts(host, options);

  say("memory of a load that leaves nothing");
  const passing = await host.daemon("passing");
  // Memory for the running code itself is not a leak, so measure the start after a first load.
  await passingLoad(passing, options.warmMs);
  const idleBefore = await idleBytes(passing, settleMs);
  await passingLoad(passing, options.warmMs * 2);

  const servers = await warmServers(host, floorExecutable, options);
  const curves = await measureCurves(servers, {
    ...options,
    onPoint: (point) => say(`reservations held and sessions finished, point ${point} of 6`),
  });
  const subjects = await throughputSubjects(host, servers, options);
  say(`warming up ${subjects.length} rows`);
  const measured = await interleave(subjects, {
    ...options,
    onRound: (round) => say(`${subjects.length} rows side by side, round ${round} of ${options.rounds}`),
  });
  const events = await eventRows(host, servers.various, options, say);
  say("reading manifests");
  const manifests = await measureManifests(options);
  say("a host full of records");
  const fullHost = await measureFullHost(host, options);

  const idle = idleRow(idleBefore, await idleBytes(passing, settleMs));
  say("memory of finished sessions");
  const memory = await memoryRows(host, servers, options, settleMs);
  return {
    rows: [...throughputRows(measured), ...events, ...manifests, ...fullHost, idle, ...memory, ...starts],
    curves,
  };
}

async function warmServers(host: Host, floorExecutable: string, { warmMs }: Options) {
  const floor = await host.server("floor", [floorExecutable]);
  const daemons = {
    fresh: await host.daemon("fresh"),
    held: await host.daemon("held"),
    finished: await host.daemon("finished"),
    various: await host.daemon("various"),
  };
  // Each gets the same time: a runtime recompiles its code during the first tens of thousands of requests.
  for (const daemon of Object.values(daemons)) await passingLoad(daemon, warmMs * 2);
  return { floor, ...daemons };
}

async function eventRows(
  host: Host,
  server: Server,
  options: Options,
  say: (line: string) => void,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const one of eventCases(options.coldMiB)) {
    say(one.what);
    const repeats = one.id === "replaced" ? options.repeats : Math.min(3, options.repeats);
    rows.push(...(await measureEvent(host, server, one, repeats)));
  }
  return rows;
}
