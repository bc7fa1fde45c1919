/**
 * 16 well-behaved clients next to a neighbour that does everything that is known to slow the daemon down, all at once:
 * sending ahead, 2,000 idle connections, slow bodies, worst manifests, readings without a token, many log lines. The
 * daemon's stderr is a terminal that nobody reads, and it has hardly more descriptors than it needs.
 */

import { join } from "node:path";
import { Latencies } from "../../bench/latencies.ts";
import { seeded, worstCase } from "../../bench/worst-manifests.ts";
import { readProcess } from "../../src/census/process-identity.ts";
import { ask, expectStatus, playFormation, playUntil, type SoakContext, soakContext } from "./client.ts";
import {
  compare,
  daemonArguments,
  EXECUTABLE,
  highestMegabytes,
  MAX_DEPTH,
  publishFormation,
  publishManifest,
  residentMegabytes,
  VERSION,
  waitForReservations,
} from "./daemon.ts";
import { WORST_ARTIFACTS } from "./hostile/neighbour.ts";
import type { Outcome } from "./outcome.ts";

const CLIENTS = 16;
/** The neighbour's 2,248 connections, those of the clients, what the runtime needs, and a few more. */
const DESCRIPTORS = 2400;
const P99_MS = 100;
const SEED = 1;

/** The started daemon. */
interface Started {
  readonly port: number;
  readonly pid: number;
  /** Resolves once it has ended. */
  stop(): Promise<void>;
  kill(): void;
}

export async function soakNeighbours(home: string, minutes: number): Promise<Outcome> {
  await publishFormation(home);
  const random = seeded(SEED);
  for (let index = 0; index < WORST_ARTIFACTS; index++) {
    await publishManifest(home, `worst-${index}`, worstCase(random).child);
  }
  await publishWorstPair(home, random);
  const daemon = await startOnUnreadTerminal(home);
  const neighbour = Bun.spawn(
    [process.execPath, join(import.meta.dir, "hostile", "neighbour.ts"), String(daemon.port)],
    { stdin: "ignore", stdout: "ignore", stderr: "inherit" },
  );
  try {
    return await playBeside(home, daemon, random, minutes, async () => {
      neighbour.kill("SIGKILL");
      await neighbour.exited;
    });
  } finally {
    neighbour.kill("SIGKILL");
    daemon.kill();
  }
}

async function playBeside(
  home: string,
  daemon: Started,
  random: () => number,
  minutes: number,
  endNeighbour: () => Promise<void>,
): Promise<Outcome> {
  const context = soakContext(home, daemon.port, 0);
  const { model, tally } = context;
  const end = performance.now() + minutes * 60_000;
  await Promise.all([
    ...Array.from({ length: CLIENTS }, () => playUntil(context, end, () => playFormation(context))),
    playUntil(context, end, () => spawnWorst(home, context, random)),
  ]);
  const highest = highestMegabytes(daemon.pid);
  await endNeighbour();
  await waitForReservations(model);
  const difference = await compare(`http://127.0.0.1:${daemon.port}`, model);
  const last = residentMegabytes(daemon.pid);
  const stopping = performance.now();
  await daemon.stop();
  const stopped = performance.now() - stopping;
  const p99 = tally.latencies.at(0.99);
  return {
    rows: [
      ["minutes, clients", `${minutes}, ${CLIENTS}`],
      ["formations", tally.formations],
      ["requests", tally.requests],
      ["sessions registered", model.sessions.length],
      ["wait for an answer: half of them, 99 %, the longest; ms", waits(context)],
      ["memory at most and last, MB", `${highest}, ${last}`],
      ["answers that nothing allows, or that never came", tally.unexpected.length],
      ["difference between the daemon's counts and the model's", difference],
      ["SIGTERM to its end, ms", stopped.toFixed(0)],
    ],
    faults: [
      ...tally.unexpected,
      ...(p99 < P99_MS ? [] : [`one in a hundred waited ${p99.toFixed(0)} ms or longer`]),
      ...(difference === 0 ? [] : [`the daemon's counts and the model's differ by ${difference}`]),
      ...(stopped < 2500 ? [] : [`the daemon took ${stopped.toFixed(0)} ms to end`]),
    ],
  };
}

function waits({ tally: { latencies } }: SoakContext): string {
  return [latencies.at(0.5), latencies.at(0.99), latencies.max].map((wait) => wait.toFixed(2)).join(", ");
}

async function publishWorstPair(home: string, random: () => number): Promise<void> {
  const { parent, child } = worstCase(random);
  await publishManifest(home, "worst-parent", parent);
  // The child that the parent may spawn.
  await publishManifest(home, "subject", child);
}

/** A session of the worst parent asks for the worst child and ends. Each time both manifests are new. */
async function spawnWorst(home: string, context: SoakContext, random: () => number): Promise<void> {
  const { model, tally } = context;
  await publishWorstPair(home, random);
  const id = `ses_worst_${model.sessions.length}`;
  // Only the waits of others are measured, not this client's own.
  const quiet = { ...context, tally: { ...tally, latencies: new Latencies() } };
  const body = { session_id: id, name: "local/worst-parent", version: VERSION };
  const registered = await ask(quiet, "/register", body);
  expectStatus(context, "worst parent", registered, 200);
  if (registered.status !== 200) return;
  const session = model.register(id, String(registered.body.credential), MAX_DEPTH);
  const credential = { "x-murmur-spawn-credential": session.credential };
  const spawn = await ask(quiet, "/spawn", { name: "local/subject", version: VERSION }, credential);
  expectStatus(context, "worst child", spawn, 200, 403);
  if (spawn.status === 200) model.reserve(session);
  const ended = await ask(quiet, "/deregister", { outcome: "complete" }, credential);
  expectStatus(context, "worst parent's end", ended, 200);
  session.status = "complete";
}

/** Starts the daemon with few descriptors, on a terminal that is not read any more once it listens. */
async function startOnUnreadTerminal(home: string): Promise<Started> {
  const args = daemonArguments(600, "parent", "worst-parent");
  const limited = ["sh", "-c", `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`, EXECUTABLE, ...args];
  const terminal = Bun.spawn([process.execPath, join(import.meta.dir, "unread-terminal.ts"), ...limited], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env.PATH ?? "", HOME: home },
  });
  const { value } = await terminal.stdout.getReader().read();
  const { pid, port } = JSON.parse(new TextDecoder().decode(value)) as { pid: number; port: number };
  return {
    pid,
    port,
    async stop() {
      process.kill(pid, "SIGTERM");
      // The terminal hangs and never reaps it, and a zombie counts as gone.
      while (readProcess(pid).held) await Bun.sleep(10);
    },
    kill() {
      if (readProcess(pid).held) process.kill(pid, "SIGKILL");
      terminal.kill("SIGKILL");
    },
  };
}
