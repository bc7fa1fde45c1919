/** A host to measure on: its own home in the temporary directory, a registry, and the capsules of the bench. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";
import { type Server, startServer } from "./server.ts";

/** Coordinates as in a request's body. */
export interface Capsule {
  readonly name: string;
  readonly version: string;
}

const capsule = (name: string): Capsule => ({ name: `local/${name}`, version: "1.0.0" });

/** The only capsule that may register without an approval. */
export const PARENT = capsule("parent");
/** Granted: it declares less than its parent holds. */
export const CHILD = capsule("child");
/** Allowed by name, but declares more than its parent holds. */
export const GREEDY = capsule("greedy");
/** Allowed by name, but not published. */
export const MISSING = capsule("missing");
/** Published, but in no capsule's list. */
export const STRANGER = capsule("stranger");
/** Allowed by name; published by the rows that measure how an artifact is read. */
export const SUBJECT = capsule("subject");

const hosts = (count: number) => Array.from({ length: count }, (_, index) => `api-${index}.example.com`);

function manifest({ name, version }: Capsule, network: readonly string[], spawn: readonly Capsule[]): string {
  return `name: ${name.split("/")[1]}
version: ${version}
capabilities:
  network:
    allow: [${network.join(", ")}]
  shell:
    allow: [git, jq]
  spawn:
    allow: [${spawn.map((child) => child.name).join(", ")}]
  filesystem:
    scope: notes
  containment: scoped
`;
}

export interface Host {
  /** The directory that everything is in. */
  readonly root: string;
  readonly registry: string;
  /** Makes a home in which nothing is running. */
  home(name: string): string;
  /** Starts a server of this host; its stderr is `<name>.log`. */
  server(name: string, command: readonly string[], home?: string): Promise<Server>;
  /** Starts a daemon of this host. By default its bounds cannot be reached. */
  daemon(name: string, options?: DaemonOptions): Promise<Server>;
  publish(capsule: Capsule, files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  /** Ends every server that was started and not stopped. */
  stopAll(): Promise<void>;
  remove(): void;
}

interface DaemonOptions {
  readonly home?: string;
  readonly maxDepth?: number;
  readonly maxConcurrent?: number;
  readonly maxLiveCapsules?: number;
}

/** The largest bound. The bounds' cost is measured, but they must not be reached. */
const UNREACHED = 4294967295;

export async function createHost(executable: string): Promise<Host> {
  const root = mkdtempSync(join(tmpdir(), "mur-roost-bench-"));
  const registry = join(root, "artifacts");
  const home = (name: string) => {
    const path = join(root, "homes", name);
    mkdirSync(join(path, ".murmur/running"), { recursive: true });
    return path;
  };
  const servers: Server[] = [];
  const server = async (name: string, command: readonly string[], at = home("empty")) => {
    const started = await startServer({ command, home: at, log: join(root, `${name}.log`) });
    servers.push(started);
    return started;
  };
  const host: Host = {
    root,
    registry,
    home,
    server,
    daemon: (name, options = {}) =>
      server(
        name,
        [
          executable,
          "--port=0",
          `--registry-path=${registry}`,
          `--spawn-allow=${PARENT.name}`,
          `--max-depth=${options.maxDepth ?? 3}`,
          `--max-concurrent=${options.maxConcurrent ?? UNREACHED}`,
          `--max-live-capsules=${options.maxLiveCapsules ?? UNREACHED}`,
        ],
        options.home,
      ),
    async stopAll() {
      await Promise.all(servers.splice(0).map((each) => each.stop()));
    },
    async publish({ name, version }, files) {
      publishArchive(registry, name, version, await packCapsule(files));
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  const allowed = [CHILD, GREEDY, MISSING, SUBJECT];
  const published = [
    [PARENT, manifest(PARENT, hosts(20), allowed)],
    [CHILD, manifest(CHILD, hosts(10), [CHILD])],
    [GREEDY, manifest(GREEDY, [...hosts(10), "elsewhere.example.org"], [CHILD])],
    [STRANGER, manifest(STRANGER, [], [])],
  ] as const;
  for (const [which, text] of published) await host.publish(which, { "murmur.yaml": text });
  return host;
}
