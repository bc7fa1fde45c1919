/**
 * `npm run soak -- formations --minutes N`: 32 clients play formations, kill some sessions and inject faults.
 * `npm run soak -- neighbours --minutes N`: 16 clients play formations while a hostile neighbour does everything that is
 * known to slow the daemon down, all at once.
 * `npm run soak -- refusals --each N`: every kind of refusal, N times.
 *
 * All of it runs against the compiled daemon. Afterwards its counts are compared with a model's, or its memory with that
 * at the start. Exits 1 if they differ, or if an answer was not allowed, was lost or came too late.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { soakFormations } from "./soak/formations.ts";
import { soakNeighbours } from "./soak/neighbours.ts";
import type { Outcome } from "./soak/outcome.ts";
import { soakRefusals } from "./soak/refusals.ts";

const USAGE = "npm run soak -- formations --minutes N | neighbours --minutes N | refusals --each N";

const PARTS: Readonly<Record<string, readonly [string, (home: string, amount: number) => Promise<Outcome>]>> =
  {
    formations: ["--minutes", soakFormations],
    neighbours: ["--minutes", soakNeighbours],
    refusals: ["--each", soakRefusals],
  };

const [name = "", flag, value, ...others] = process.argv.slice(2);
const [wanted, soak] = PARTS[name] ?? [];
const amount = flag === wanted ? Number(value) : Number.NaN;
if (!soak || !(amount > 0) || others.length > 0) {
  process.stderr.write(`soak: usage: ${USAGE}, N above 0\n`);
  process.exit(1);
}
const home = mkdtempSync(join(tmpdir(), "mur-roost-soak-"));
try {
  const { rows, faults } = await soak(home, amount);
  const table = ["| | |", "|---|---|", ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)];
  process.stdout.write(`${table.join("\n")}\n`);
  for (const fault of faults.slice(0, 10)) process.stderr.write(`soak: ${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
