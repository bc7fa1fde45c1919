/**
 * `npm run soak:children -- [--kills 60] [--delegations 2000]`: real children of the runtime library. It kills `--kills`
 * parents and as many children at random moments; then one parent makes `--delegations` delegations. Exits 1 if a process,
 * a runtime directory, a slot or a descriptor is left over, or if memory grows. Linux only.
 */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../test/kit/compile-program.ts";
import { readNumbers } from "./number-flags.ts";
import { delegateOnce, delegating } from "./soak/delegating.ts";
import { openDescriptors, openSoakHost, type SoakHost } from "./soak/host.ts";

/** A killed parent's children have 20 s to end, and then so have their children. */
const GONE_MS = 60_000;
/** An approval that was not redeemed holds its slot for a minute. */
const APPROVAL_MS = 61_000;
/** Delegations under way at once. */
const AT_ONCE = 4;
/** How much memory may change between the end of the first quarter and the end of the last, in MB. */
const MEMORY_MB = 24;

const { kills, delegations } = readNumbers("npm run soak:children -- [--kills N] [--delegations N]", {
  kills: 60,
  delegations: 2000,
});
const folder = mkdtempSync(join(tmpdir(), "mur-roost-soak-program-"));
const wrong: string[] = [];
const rows: [string, string | number][] = [];
try {
  const program = join(folder, "capsule");
  await compile(join(import.meta.dir, "soak", "capsule.ts"), program);
  const host = await openSoakHost(program);
  try {
    await killParents(host);
    await killChildren(host);
    await delegateMany(host);
  } finally {
    await host.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(
  `| | |\n|---|---|\n${rows.map(([what, figure]) => `| ${what} | ${figure} |`).join("\n")}\n`,
);
for (const line of wrong) process.stderr.write(`soak: ${line}\n`);
process.exit(wrong.length === 0 ? 0 : 1);

/** The children, found by their records, whose sessions the daemon still counts as running. */
async function runningChildren({ home, statusOf }: SoakHost): Promise<string[]> {
  const paths = readdirSync(join(home, ".murmur", "records"), { recursive: true, encoding: "utf8" });
  const ids = paths.flatMap((path) => /\/children\/[^/]+\/(ses_\w+)$/.exec(path)?.[1] ?? []);
  const running: string[] = [];
  for (const id of ids) if ((await statusOf(id)) === "running") running.push(id);
  return running;
}

async function allGone(host: SoakHost, what: string): Promise<void> {
  const end = performance.now() + GONE_MS;
  while (host.processes().length > 0) {
    if (performance.now() > end) {
      wrong.push(`${what}: processes ${host.processes().join(", ")} are left`);
      return;
    }
    await Bun.sleep(10);
  }
}

/** Kills parents. Their children end by their lifelines; only the killed parents' slots stay taken. */
async function killParents(host: SoakHost): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    const parent = host.startParent();
    await Bun.sleep(Math.random() * 1_000);
    parent.kill("SIGKILL");
    await parent.exited;
    await allGone(host, `after a killed parent (${kill})`);
  }
  if (kills > 0) await Bun.sleep(APPROVAL_MS);
  const [running, leftovers, live] = [await runningChildren(host), host.leftovers(), await host.live()];
  if (running.length > 0) wrong.push(`children of killed parents hold slots: ${running.join(", ")}`);
  if (leftovers.length > kills) wrong.push(`runtime directories are left: ${leftovers.length}`);
  if (!(live <= kills)) wrong.push(`slots are held: ${live}`);
  rows.push(
    ["parents killed at a random moment", kills],
    ["slots and runtime directories left, the killed parents' own", `${live}, ${leftovers.length}`],
    ["slots of their children left", running.length],
  );
}

async function killChildren(host: SoakHost): Promise<void> {
  const { task, stop } = delegating(host.session);
  await delegateOnce(task(), "0");
  const before = {
    descriptors: openDescriptors(),
    live: await host.live(),
    leftovers: host.leftovers().length,
  };
  const ends = new Map<string, number>();
  for (let kill = 0; kill < kills; kill++) {
    const running = delegateOnce(task(), "200");
    await Bun.sleep(Math.random() * 500);
    for (const pid of host.processes()) process.kill(pid, "SIGKILL");
    const end = await running;
    ends.set(end, (ends.get(end) ?? 0) + 1);
    await allGone(host, `after a killed child (${kill})`);
  }
  if (kills > 0) await Bun.sleep(APPROVAL_MS);
  await stop();
  const live = (await host.live()) - before.live;
  const leftovers = host.leftovers().length - before.leftovers;
  const descriptors = openDescriptors() - before.descriptors;
  if (!(live <= kills)) wrong.push(`slots are held: ${live}`);
  if (leftovers > kills) wrong.push(`runtime directories are left: ${leftovers}`);
  if (descriptors > 0) wrong.push(`descriptors are left: ${descriptors}`);
  rows.push(
    ["children killed at a random moment", kills],
    ["what their delegations came to", [...ends].map(([end, count]) => `${end} ${count}`).join(", ")],
    ["slots and runtime directories left, the killed children's own", `${live}, ${leftovers}`],
    ["descriptors left", descriptors],
  );
}

async function delegateMany(host: SoakHost): Promise<void> {
  const { task, stop } = delegating(host.session);
  const before = { live: await host.live(), leftovers: host.leftovers().length };
  const descriptors: number[] = [];
  const memory: number[] = [];
  let [done, failed] = [0, 0];
  for (let quarter = 0; quarter < 4; quarter++) {
    const end = Math.ceil((delegations * (quarter + 1)) / 4);
    let next = done;
    const work = async () => {
      while (next++ < end) if ((await delegateOnce(task(), "0")) !== "ok") failed++;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    done = end;
    Bun.gc(true);
    descriptors.push(openDescriptors());
    memory.push(Math.round(process.memoryUsage.rss() / 1024 ** 2));
  }
  await stop();
  await allGone(host, "after the delegations");
  const live = (await host.live()) - before.live;
  const leftovers = host.leftovers().length - before.leftovers;
  const [firstDescriptors = 0, firstMemory = 0] = [descriptors[0], memory[0]];
  if (failed > 0) wrong.push(`delegations that were not answered: ${failed}`);
  if (live > 0 || leftovers > 0) wrong.push(`slots and runtime directories are left: ${live}, ${leftovers}`);
  if ((descriptors.at(-1) ?? 0) > firstDescriptors) wrong.push(`descriptors grow: ${descriptors.join(", ")}`);
  if ((memory.at(-1) ?? 0) > firstMemory + MEMORY_MB) wrong.push(`memory grows: ${memory.join(", ")} MB`);
  rows.push(
    ["delegations of one parent, not answered among them", `${done}, ${failed}`],
    ["descriptors after each quarter", descriptors.join(", ")],
    ["memory after each quarter, MB", memory.join(", ")],
    ["slots and runtime directories left", `${live}, ${leftovers}`],
  );
}
