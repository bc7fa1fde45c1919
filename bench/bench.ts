/**
 * `npm run bench`: what a request costs, on the executable as released, compared with a server that does the minimum.
 *
 * Prints the table, and writes it to `bench/results.json` and the curves to `bench/spawn.svg`. Linux only, because it
 * reads the kernel's figures for a process. Run it on an otherwise idle machine; on a shared one only ratios and processor
 * time are valid.
 */

import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { buildAll } from "./build.ts";
import { drawChart } from "./chart.ts";
import { QUICK, readOptions, USAGE } from "./options.ts";
import { renderTable } from "./row.ts";
import { runBench } from "./run.ts";

const options = readOptions(process.argv.slice(2));
if (typeof options === "string") {
  process.stderr.write(`bench: ${options}\n${USAGE}`);
  process.exit(1);
}
const started = performance.now();
const say = (line: string) => {
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
};

say("compiling");
const built = await buildAll();
const daemon = options.executable ?? built.daemon;
const { rows, curves } = await runBench({ daemon, floor: built.floor }, options, say);
say("done");
process.stdout.write(renderTable(rows));
// What is kept is a whole measurement of what this tree builds.
const isKept = options.sliceMs !== QUICK.sliceMs && options.executable === undefined;
const place = isKept ? import.meta.dir : join(import.meta.dir, "../dist/bench");
const machine = `${cpus()[0]?.model ?? "unknown processor"}, ${availableParallelism()} cores`;
const results = { runtime: built.runtime, machine, options, rows, curves };
await Bun.write(join(place, "results.json"), `${JSON.stringify(results, undefined, 2)}\n`);
await Bun.write(join(place, "spawn.svg"), drawChart(curves));
