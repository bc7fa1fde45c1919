/** A host of its own for a test: a home with a store, a daemon, and capsules whose program is `child-program.ts`. */

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compiled } from "../kit/compiled.ts";
import { createHost, publishCapsule } from "../kit/host.ts";

export interface World {
  readonly home: string;
  readonly workdir: string;
  /** What the daemon judges. */
  readonly registry: string;
  readonly roostUrl: string;
  /** Of the daemon. */
  readonly roostPid: number;
  /** Publishes a capsule; `capabilities` is YAML below that key, in flow style. */
  publish(name: string, capabilities: string, store?: string): Promise<void>;
  stop(): Promise<void>;
}

/** For tests whose children take an approval and never register: it holds its slot for a minute. */
export const ROOMY = ["--max-concurrent", "100000", "--max-live-capsules", "100000"];

/** `apart`: the daemon judges what is in a registry of its own, not in the store of the home. */
export async function createWorld(flags: readonly string[] = [], { apart = false } = {}): Promise<World> {
  await using undo = new AsyncDisposableStack();
  const host = undo.use(createHost());
  const workdir = join(host.home, "project");
  mkdirSync(workdir);
  const registry = apart ? join(host.home, "judged") : host.registry;
  const daemon = await host.start(["--registry-path", registry, "--spawn-allow", "local/parent", ...flags]);
  undo.move();
  return {
    home: host.home,
    registry,
    workdir,
    roostUrl: daemon.url,
    roostPid: daemon.pid,
    async publish(name, capabilities, store = host.registry) {
      await publishCapsule(store, name, `capabilities: {${capabilities}}\n`);
    },
    stop: async () => host[Symbol.asyncDispose](),
  };
}

/** The arguments that start a capsule, which is `local/parent` at 0.1.0. */
export function runArguments(workdir: string): string[] {
  return ["run", "--capsule", "local/parent", "--capsule-version", "0.1.0", "--workdir", workdir];
}

/** The program of a capsule that keeps the contract, or breaks it where it is told to (child-program.ts). */
export function childBinary(): Promise<string> {
  return compiled(join(import.meta.dir, "child-program.ts"));
}

/** What only one test's processes have in their command line: a folder or a session of its own, or such a sleep. */
const UNIQUE = /mur-roost-test-|ses_|^sleep 1000\.\d{9,}$/;

/** A sleep that no other process does: other files run the same programs beside this one. */
export function uniqueSleep(): string {
  return `sleep 1000.${String(process.pid).padStart(9, "0")}${Math.floor(Math.random() * 1e9)}`;
}

/**
 * The processes whose command line holds `text`, and which are no zombies.
 *
 * @throws Error where others than the caller's own may hold it too
 */
export function processesOf(text: string): number[] {
  if (!UNIQUE.test(text)) throw new Error(`not of one test alone: ${text}`);
  return (process.platform === "linux" ? fromProc() : fromPs())
    .filter(({ command }) => command.includes(text))
    .map(({ pid }) => pid);
}

interface Listed {
  readonly pid: number;
  readonly command: string;
}

/** Without a process of its own, which takes its time on a busy machine. A zombie has no command line. */
function fromProc(): Listed[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return { pid: Number(pid), command };
      } catch {
        // It has ended meanwhile.
        return { pid: Number(pid), command: "" };
      }
    });
}

function fromPs(): Listed[] {
  const listed = Bun.spawnSync(["ps", "-eo", "pid=,stat=,args="]).stdout.toString();
  return listed
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, state]) => !state?.startsWith("Z"))
    .map(([pid, , ...words]) => ({ pid: Number(pid), command: words.join(" ") }));
}
