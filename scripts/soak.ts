/**
 * `npm run soak -- --minutes N`: 32 clients play formations against the compiled daemon, kill some sessions and inject
 * faults; then the daemon's counts are compared with a model's. Exits 1 where they differ, or an answer was not allowed.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDaemonProcess } from "../test/kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";
import { ROOT } from "./compile.ts";
import { playFormation, type SoakContext } from "./soak/client.ts";
import { Model } from "./soak/model.ts";

const CLIENTS = 32;
const MAX_DEPTH = 3;
const KILLABLE = 100;
const VERSION = "1.0.0";

const minutes = readMinutes(process.argv.slice(2));
const home = mkdtempSync(join(tmpdir(), "mur-roost-soak-"));
try {
  process.exitCode = await soak(minutes);
} finally {
  rmSync(home, { recursive: true, force: true });
}

function readMinutes(args: readonly string[]): number {
  const [flag, value, ...others] = args;
  const given = flag === "--minutes" ? Number(value) : Number.NaN;
  if (!(given > 0) || others.length > 0) {
    process.stderr.write("soak: usage: npm run soak -- --minutes N, a number above 0\n");
    process.exit(1);
  }
  return given;
}

async function publish(name: string, capabilities: string, more: Record<string, string> = {}): Promise<void> {
  const manifest = `name: ${name}\nversion: ${VERSION}\ncapabilities:\n${capabilities}`;
  publishArchive(
    join(home, ".murmur", "artifacts"),
    `local/${name}`,
    VERSION,
    await packCapsule({ "murmur.yaml": manifest, ...more }),
  );
}

async function soak(minutes: number): Promise<number> {
  await publish("parent", "  spawn: {allow: [local/parent, local/child, local/volatile, local/greedy]}\n");
  await publish("child", "  env: {allow: []}\n");
  await publish("greedy", "  shell: {allow: [sh]}\n");
  await publish("volatile", "  env: {allow: []}\n");
  const daemon = await startDaemonProcess({
    command: [join(ROOT, "dist", "mur-roost")],
    args: [
      "--port",
      "0",
      "--spawn-allow",
      "local/parent",
      "--max-depth",
      String(MAX_DEPTH),
      "--max-live-capsules",
      "600",
    ],
    home,
  });
  const first = residentMegabytes(daemon.pid);
  let edition = 0;
  const context: SoakContext = {
    port: daemon.port,
    model: new Model(),
    tally: { requests: 0, refusals: 0, faults: 0, killed: 0, formations: 0, unexpected: [] },
    random: Math.random,
    killable: KILLABLE,
    republish: () => void publish("volatile", "  env: {allow: []}\n", { edition: String(edition++) }),
  };
  const end = performance.now() + minutes * 60_000;
  const client = async () => {
    while (performance.now() < end) await playFormation(context, MAX_DEPTH);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const { model, tally } = context;
  // Killed sessions hold the slots of what they were granted and never used for the rest of a minute.
  const latest = Math.max(0, ...model.held().map(({ until }) => until));
  await Bun.sleep(Math.max(0, latest + 1000 - performance.now()));
  const difference = await compare(daemon.url, model);
  const last = residentMegabytes(daemon.pid);
  const exit = await daemon.stop();
  const rows = [
    ["minutes, clients", `${minutes}, ${CLIENTS}`],
    ["formations", tally.formations],
    ["requests", tally.requests],
    ["refusals among them", tally.refusals],
    ["faults injected", tally.faults],
    ["sessions registered", model.sessions.length],
    ["of these killed, their slots held", tally.killed],
    ["memory first and last, MB", `${first}, ${last}`],
    ["answers that nothing allows", tally.unexpected.length],
    ["difference between the daemon's counts and the model's", difference],
  ];
  const table = ["| | |", "|---|---|", ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)];
  process.stdout.write(`${table.join("\n")}\n`);
  for (const line of tally.unexpected.slice(0, 10)) process.stderr.write(`soak: ${line}\n`);
  return difference === 0 && tally.unexpected.length === 0 && exit === 0 ? 0 : 1;
}

/** The sum of all differences, over every session that ever was. */
async function compare(url: string, model: Model): Promise<number> {
  let difference = 0;
  const live = model.live();
  const childrenOf = new Map<unknown, number>();
  for (const { status, parent } of model.sessions) {
    if (status === "running" && parent) childrenOf.set(parent, (childrenOf.get(parent) ?? 0) + 1);
  }
  for (const session of model.sessions) {
    const response = await fetch(`${url}/status/${session.id}`);
    const figures = (await response.json()) as Record<string, unknown>;
    if (figures.status !== session.status) difference++;
    difference += Math.abs(Number(figures.depth_remaining) - session.depth);
    difference += Math.abs(Number(figures.live_children) - (childrenOf.get(session) ?? 0));
    difference += Math.abs(Number(figures.live_capsules) - live);
  }
  return difference;
}

/** Linux: what the process holds in memory now. */
function residentMegabytes(pid: number): string {
  if (process.platform !== "linux") return "not measured";
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (Number(kilobytes) / 1024).toFixed(1);
}
