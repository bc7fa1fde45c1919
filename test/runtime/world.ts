/** A host of its own for a test: a home with a store, a daemon, and capsules whose program is `child-program.ts`. */

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import yazl from "yazl";

const root = join(import.meta.dir, "../..");

export interface World {
  readonly home: string;
  readonly workdir: string;
  /** What the daemon judges. */
  readonly registry: string;
  readonly roostUrl: string;
  /** Everything the daemon has written. */
  daemonLog(): string;
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
  const daemon = await startDaemon(home, ["--registry-path", registry, ...flags]);
  return {
    home,
    registry,
    workdir,
    roostUrl: daemon.url,
    daemonLog: daemon.log,
    publish: (name, capabilities, store = join(home, ".murmur", "artifacts")) =>
      publish(store, name, `capabilities: {${capabilities}}\n`),
    async stop() {
      await daemon.stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

async function publish(store: string, name: string, body: string): Promise<void> {
  const version = "0.1.0";
  const bare = name.slice(name.indexOf("/") + 1);
  const zip = new yazl.ZipFile();
  zip.addBuffer(Buffer.from(`name: ${bare}\nversion: ${version}\n${body}`), "murmur.yaml");
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(Buffer.from(chunk));
  const bytes = Buffer.concat(chunks);
  const directory = join(store, name, version);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${bare}-${version}.mur.zip`), bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  writeFileSync(join(directory, `${bare}-${version}.sha256`), sha256);
}

async function startDaemon(home: string, flags: readonly string[]) {
  const process_ = Bun.spawn(
    [
      process.execPath,
      "--no-env-file",
      join(root, "src/main.ts"),
      "--port",
      "0",
      "--spawn-allow",
      "local/parent",
      ...flags,
    ],
    { cwd: root, env: { HOME: home, PATH: process.env.PATH }, stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  void (async () => {
    for await (const chunk of process_.stderr.pipeThrough(new TextDecoderStream())) {
      log += chunk;
      const port = /listening on 127\.0\.0\.1:(\d+)\n/.exec(log)?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    }
    resolve("");
  })();
  const url = await listening;
  if (url === "") throw new Error(`the daemon did not start: ${log}`);
  return {
    url,
    log: () => log,
    async stop() {
      process_.kill("SIGTERM");
      await process_.exited;
    },
  };
}

let compiled: Promise<string> | undefined;

/** The child program as a binary of its own, both of Bun's autoloads off; compiled once. */
export function childBinary(): Promise<string> {
  compiled ??= compile();
  return compiled;
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
