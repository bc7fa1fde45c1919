/** The bench's own code, run for a moment. No figure is looked at. */

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { drawChart } from "../../bench/chart.ts";
import { createHost } from "../../bench/host.ts";
import { interleave } from "../../bench/interleave.ts";
import { throughputRows } from "../../bench/judge.ts";
import { measureManifests } from "../../bench/manifests.ts";
import { QUICK, readOptions } from "../../bench/options.ts";
import { renderTable } from "../../bench/row.ts";
import { endSurvivors } from "../../bench/running.ts";
import { throughputSubjects } from "../../bench/throughput.ts";

const ROOT = join(import.meta.dir, "../..");
const DAEMON = join(ROOT, "dist/mur-roost");

test("the rows about manifests are measured", async () => {
  const rows = await measureManifests({ rounds: 1, readings: 20 });
  for (const row of rows) expect([row.what, Number.isFinite(row.median)]).toEqual([row.what, true]);
});

test.skipIf(process.platform !== "linux")(
  "every row of throughput gets the answers it asks for",
  async () => {
    if (!existsSync(DAEMON)) throw new Error("dist/mur-roost is missing: run 'npm run build'");
    const host = await createHost(DAEMON);
    try {
      const floor = await host.server("floor", [process.execPath, join(ROOT, "bench/floor.ts")]);
      const daemon = await host.daemon("daemon");
      const servers = { floor, fresh: daemon, held: daemon, finished: daemon, various: daemon };
      const subjects = await throughputSubjects(host, servers, { reservations: 20, finished: 0 });
      const measured = await interleave(subjects, { ...QUICK, onRound: () => {} });
      const rows = throughputRows(measured);
      expect(rows.map(({ id }) => id)).toContain("refused-envelope");
      // A wrong answer throws while it is measured. How many answers a busy machine gives in that time is not tested.
      for (const row of rows) expect([row.what, Number.isFinite(row.median)]).toEqual([row.what, true]);
      expect(renderTable(rows).trim().split("\n")).toHaveLength(rows.length + 2);
    } finally {
      await host.stopAll();
      await endSurvivors();
      host.remove();
    }
  },
);

test("the chart has a mark for each point", () => {
  const points = [
    { at: 0, rate: 15_000, ofFloor: 0.6 },
    { at: 50_000, rate: 14_500, ofFloor: 0.58 },
  ];
  const chart = drawChart({ held: points, finished: points.slice(0, 1) });
  expect(chart.match(/<circle /g)).toHaveLength(3);
  expect(chart).toContain("50,000");
});

test("an unknown switch is named", () => {
  expect(readOptions(["--fast"])).toContain("--fast");
  expect(readOptions(["--rounds", "0"])).toContain("--rounds");
  expect(readOptions(["--long"])).toMatchObject({ finishedLong: 1_000_000 });
});
