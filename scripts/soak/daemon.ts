/** The daemon in a soak: the compiled one with its own registry, and the kernel's figures about it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DaemonProcess, startDaemonProcess } from "../../test/kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../../test/kit/publish.ts";
import { ROOT } from "../compile.ts";
import type { Model } from "./model.ts";

export const EXECUTABLE = join(ROOT, "dist", "mur-roost");
export const MAX_DEPTH = 3;
export const VERSION = "1.0.0";

/** Publishes `local/<name>` with these lines under `capabilities:`, and with additional files if given. */
export async function publish(
  home: string,
  name: string,
  capabilities: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const manifest = `name: ${name}\nversion: ${VERSION}\ncapabilities:\n${capabilities}`;
  await publishManifest(home, name, manifest, more);
}

export async function publishManifest(
  home: string,
  name: string,
  manifest: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const archive = await packCapsule({ "murmur.yaml": manifest, ...more });
  publishArchive(join(home, ".murmur", "artifacts"), `local/${name}`, VERSION, archive);
}

/** Publishes the capsules that formations are played with. */
export async function publishFormation(home: string): Promise<void> {
  await publish(
    home,
    "parent",
    "  spawn: {allow: [local/parent, local/child, local/volatile, local/greedy]}\n",
  );
  await publish(home, "child", "  env: {allow: []}\n");
  await publish(home, "greedy", "  shell: {allow: [sh]}\n");
  await publish(home, "volatile", "  env: {allow: []}\n");
}

export function daemonArguments(ceiling: number, ...names: readonly string[]): string[] {
  const allowed = names.flatMap((name) => ["--spawn-allow", `local/${name}`]);
  return [
    "--port",
    "0",
    ...allowed,
    "--max-depth",
    String(MAX_DEPTH),
    "--max-live-capsules",
    String(ceiling),
  ];
}

export function startDaemon(home: string, args: readonly string[]): Promise<DaemonProcess> {
  return startDaemonProcess({ command: [EXECUTABLE], args, home });
}

/** The sum of all differences between the daemon's counts and the model's, over all sessions, ended ones too. */
export async function compare(url: string, model: Model): Promise<number> {
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

/** Waits up to a minute: unused approvals of killed sessions hold their slots until they expire. */
export async function waitForReservations(model: Model): Promise<void> {
  const latest = Math.max(0, ...model.held().map(({ until }) => until));
  await Bun.sleep(Math.max(0, latest + 1000 - performance.now()));
}

/** Linux: what the process holds in memory now, in megabytes; NaN elsewhere. */
export function residentMegabytes(pid: number): number {
  return megabytes(pid, "VmRSS");
}

/** Linux: the most memory it has ever held, in megabytes. */
export function highestMegabytes(pid: number): number {
  return megabytes(pid, "VmHWM");
}

function megabytes(pid: number, key: string): number {
  if (process.platform !== "linux") return Number.NaN;
  const kilobytes = new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(
    readFileSync(`/proc/${pid}/status`, "utf8"),
  )?.[1];
  return Math.round(Number(kilobytes) / 102.4) / 10;
}
