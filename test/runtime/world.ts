/** A host of its own for a test: a home with a store, a daemon, and capsules whose program is `child-program.ts`. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDaemonProcess } from "../../examples/daemon-process.ts";
import { packCapsule, publishArchive } from "../../examples/publish.ts";

const root = join(import.meta.dir, "../..");

export interface World {
  readonly home: string;
  readonly workdir: string;
  /** What the daemon judges. */
  readonly registry: string;
  readonly roostUrl: string;
  /** Publishes a capsule; `capabilities` is YAML below that key, in flow style. */
  publish(name: string, capabilities: string, store?: string): Promise<void>;
  stop(): Promise<void>;
}

/** For tests whose children take an approval and never register: it holds its slot for a minute. */
export const ROOMY = ["--max-concurrent", "100000", "--max-live-capsules", "100000"];

/** `apart`: the daemon judges what is in a registry of its own, not in the store of the home. */
export async function createWorld(flags: readonly string[] = [], { apart = false } = {}): Promise<World> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "mur-roost-runtime-")));
  const home = join(base, "home");
  const workdir = join(base, "project");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workdir);
  const registry = apart ? join(base, "judged") : join(home, ".murmur", "artifacts");
  const daemon = await startDaemonProcess({
    command: daemonCommand(),
    args: ["--port", "0", "--registry-path", registry, "--spawn-allow", "local/parent", ...flags],
    home,
  });
  return {
    home,
    registry,
    workdir,
    roostUrl: daemon.url,
    async publish(name, capabilities, store = join(home, ".murmur", "artifacts")) {
      const bare = name.slice(name.indexOf("/") + 1);
      const manifest = `name: ${bare}\nversion: 0.1.0\ncapabilities: {${capabilities}}\n`;
      publishArchive(store, name, "0.1.0", await packCapsule({ "murmur.yaml": manifest }));
    },
    async stop() {
      await daemon.stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** The compiled daemon where `npm test` has built it, else its source. */
function daemonCommand(): string[] {
  const compiledDaemon = join(root, "dist", "mur-roost");
  if (existsSync(compiledDaemon)) return [compiledDaemon];
  return [process.execPath, "--no-env-file", join(root, "src/main.ts")];
}

declare global {
  /** Each test file has modules of its own; the global object is the whole run's. */
  var compiledTestChild: Promise<string> | undefined;
}

/** The child program as a binary of its own, both of Bun's autoloads off; compiled once a run. */
export function childBinary(): Promise<string> {
  globalThis.compiledTestChild ??= compile();
  return globalThis.compiledTestChild;
}

async function compile(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "mur-roost-child-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "child");
  const build = Bun.spawn(
    [
      process.execPath,
      "build",
      "--compile",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      join(import.meta.dir, "child-program.ts"),
      "--outfile",
      path,
    ],
    { cwd: directory, stdio: ["ignore", "ignore", "pipe"] },
  );
  const said = await new Response(build.stderr).text();
  if ((await build.exited) !== 0) throw new Error(said);
  return path;
}

/** Descriptors open in this process. */
export function openDescriptors(): number {
  return readdirSync(process.platform === "linux" ? "/proc/self/fd" : "/dev/fd").length;
}

/** The processes whose command line holds `text`, and which are no zombies. */
export function processesOf(text: string): number[] {
  const listed = Bun.spawnSync(["ps", "-eo", "pid=,stat=,args="]).stdout.toString();
  return listed
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, state]) => !state?.startsWith("Z"))
    .map(([pid]) => Number(pid));
}
