/**
 * `bun bench/readings.ts`: how long a caller with a token waits while callers without one keep making the daemon read new
 * artifacts. It also prints how long the caller waits alone: on a shared machine only the difference counts.
 */

import { join } from "node:path";
import { compile, ROOT } from "../scripts/compile.ts";
import { type Capsule, CHILD, createHost, type Host, SUBJECT } from "./host.ts";
import { Latencies } from "./latencies.ts";
import { repeated, runLoad } from "./load.ts";
import { residentBytes } from "./process-cost.ts";
import { spawnRequest } from "./requests.ts";
import type { Server } from "./server.ts";
import { register } from "./sessions.ts";

const CROWD = 16;
/** How many new artifacts are requested, and how many requests for a known one come before each. */
const NEW = 80;
const KNOWN_EACH = 10;
/** The bench's parent covers these capabilities. */
const SCOPED = "capabilities: {filesystem: {scope: notes}, containment: scoped}\n";

const executable = join(ROOT, "dist/bench/mur-roost");
await compile({ outfile: executable });
const host = await createHost(executable);
try {
  const table = [
    "| Beside it | known, p50 | p99 | longest | new, p50 | longest | memory |",
    "|---|---|---|---|---|---|---|",
    await row(host, { id: 0, what: "nothing", artifacts: 0, bytes: 0 }),
    await row(host, { id: 1, what: "300 artifacts of 3 KB", artifacts: 300, bytes: 3000 }),
    await row(host, { id: 2, what: "40 artifacts of 20 MB", artifacts: 40, bytes: 20_000_000 }),
  ];
  process.stdout.write(`${table.join("\n")}\n`);
} finally {
  await host.stopAll();
  host.remove();
}

interface Crowd {
  readonly id: number;
  readonly what: string;
  /** How many artifacts, of `bytes` bytes each. There are more than the daemon remembers. */
  readonly artifacts: number;
  readonly bytes: number;
}

async function row(host: Host, crowd: Crowd): Promise<string> {
  const server = await host.daemon(`readings-${crowd.id}`);
  const crowded = await publishCrowded(host, crowd);
  const fresh = Array.from({ length: NEW }, (_, index) => ({ ...SUBJECT, version: `${crowd.id}.${index}` }));
  for (const capsule of fresh) {
    await host.publish(capsule, { "murmur.yaml": `name: subject\nversion: ${capsule.version}\n${SCOPED}` });
  }
  const over = new AbortController();
  const asking =
    crowded.length === 0 ? [] : Array.from({ length: CROWD }, () => haveRead(server, crowded, over.signal));
  const { known, unknown } = await askWithToken(server, fresh);
  const memory = residentBytes(server.pid) / 1e6;
  over.abort();
  await Promise.all(asking);
  await server.stop();
  const waits = [known.at(0.5), known.at(0.99), known.max, unknown.at(0.5), unknown.max];
  const cells = [...waits.map((milliseconds) => `${milliseconds.toFixed(1)} ms`), `${memory.toFixed(0)} MB`];
  return `| ${crowd.what} | ${cells.join(" | ")} |`;
}

async function publishCrowded(host: Host, { id, artifacts, bytes }: Crowd): Promise<Capsule[]> {
  // It repeats at a distance that deflate does not look back.
  const filler = Buffer.alloc(bytes, crypto.getRandomValues(Buffer.alloc(60_000)));
  const capsules = Array.from({ length: artifacts }, (_, index) => ({
    name: "local/crowded",
    version: `${id}.${index}`,
  }));
  for (const capsule of capsules) {
    await host.publish(capsule, { "murmur.yaml": `name: crowded\nversion: ${capsule.version}\n`, filler });
  }
  return capsules;
}

/** Registers with an invalid approval again and again. The daemon reads the artifact before it refuses. */
async function haveRead(server: Server, capsules: readonly Capsule[], over: AbortSignal): Promise<void> {
  for (let turn = 0; !over.aborted; turn++) {
    const { name, version } = capsules[Math.floor(Math.random() * capsules.length)] ?? SUBJECT;
    const answer = await fetch(`http://127.0.0.1:${server.port}/register`, {
      method: "POST",
      headers: { "x-murmur-spawn-approval": "none" },
      body: JSON.stringify({ session_id: `ses_${turn}`, name, version }),
    });
    await answer.arrayBuffer();
  }
}

/** One connection requests a known artifact, and now and then a new one. */
async function askWithToken(server: Server, fresh: readonly Capsule[]) {
  const { credential } = await register(server);
  const known = new Latencies();
  const unknown = new Latencies();
  const ask = async (capsule: Capsule) => {
    const next = repeated(spawnRequest(credential, capsule), 1);
    const { latencies } = await runLoad({ port: server.port, connections: 1, expect: 200, next });
    return latencies.max;
  };
  await ask(CHILD);
  for (const capsule of fresh) {
    for (let asked = 0; asked < KNOWN_EACH; asked++) known.add(await ask(CHILD));
    unknown.add(await ask(capsule));
  }
  return { known, unknown };
}
