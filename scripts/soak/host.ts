/** The host for a soak of children: a home, the compiled daemon, the capsules, and what they leave behind. Linux only. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  canDelegate,
  type DelegatingSession,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
} from "../../src/runtime/index.ts";
import type { DaemonProcess } from "../../test/kit/daemon-process.ts";
import { publish, startDaemon, VERSION } from "./daemon.ts";

export interface SoakHost {
  readonly home: string;
  readonly session: DelegatingSession;
  /** Starts the delegating capsule, which keeps delegating. */
  startParent(): Bun.Subprocess;
  /** The pids of the capsules' processes. */
  processes(): number[];
  /** The sessions whose runtime directory is left, except this one's. */
  leftovers(): string[];
  /** Live capsules at the daemon, without this session. */
  live(): Promise<number>;
  statusOf(session: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param program the compiled capsule, in a folder that only this soak uses */
export async function openSoakHost(program: string): Promise<SoakHost> {
  const home = mkdtempSync(join(tmpdir(), "mur-roost-soak-"));
  const workdir = join(home, "project");
  mkdirSync(workdir);
  await publish(home, "parent", "  spawn: {allow: [local/child]}\n");
  await publish(home, "child", "  env: {allow: []}\n");
  const roomy = ["--max-concurrent", "100000", "--max-live-capsules", "100000"];
  const daemon = await startDaemon(home, ["--port", "0", "--spawn-allow", "local/parent", ...roomy]);
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    MURMUR_ROOST_URL: daemon.url,
    MURMUR_MUR_BINARY: program,
  };
  const session = await openParent(workdir, environment).catch(async (error: unknown) => {
    await endDaemon(daemon, home);
    throw error;
  });
  const status = async (id: string) => {
    const answer = await session.registration.client.status(id);
    return answer.kind === "granted" ? answer.value : undefined;
  };
  const parent = ["--capsule", "local/parent", "--capsule-version", VERSION, "--workdir", workdir];
  return {
    home,
    session,
    startParent: () =>
      Bun.spawn([program, "run", ...parent], { env: environment, stdio: ["ignore", "ignore", "ignore"] }),
    processes: () => processesOf(program),
    leftovers() {
      const sessions = join(home, ".murmur", "sessions");
      return existsSync(sessions) ? readdirSync(sessions).filter((id) => id !== session.id) : [];
    },
    live: async () => ((await status(session.id))?.live_capsules ?? Number.NaN) - 1,
    statusOf: async (id) => (await status(id))?.status ?? "unknown",
    async stop() {
      for (const pid of processesOf(program)) process.kill(pid, "SIGKILL");
      await endDaemon(daemon, home);
    },
  };
}

async function endDaemon(daemon: DaemonProcess, home: string): Promise<void> {
  await daemon.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}

/** This process's own session of `local/parent`. */
async function openParent(
  workdir: string,
  environment: Readonly<Record<string, string>>,
): Promise<DelegatingSession> {
  const name = parseArtifactName("local/parent");
  const version = parseArtifactVersion(VERSION);
  if (!name || !version) throw new Error("the parent has no name");
  const run = {
    name,
    version,
    workdir,
    grantOnStdin: false,
    readinessTokens: false,
    parentWorkdir: undefined,
  };
  const output = { stdout: async () => {}, stderr: async () => {} };
  const opened = await openSession({ run, environment, output });
  if (!opened.ok || !canDelegate(opened.value)) throw new Error(JSON.stringify(opened));
  return opened.value;
}

/** A zombie has no command line. */
function processesOf(program: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid).startsWith(`${program}\0`))
    .map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // The process has ended meanwhile.
    return "";
  }
}

/** How many descriptors this process has open. */
export function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}
