/** The compiled daemon on a registry of its own, and requests to it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DaemonProcess, startDaemonProcess } from "../kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";
import { shared } from "../kit/shared.ts";

export const BINARY = join(import.meta.dir, "../../dist/mur-roost");
export const VERSION = "1.0.0";

export interface Home {
  readonly path: string;
  readonly registry: string;
  /** Publishes a manifest under `<scope>/<name>`, at `VERSION`; gives the archive's hash. */
  publish(name: string, manifest: string): Promise<string>;
  publishBytes(name: string, archive: Uint8Array): string;
  remove(): void;
}

/** A home directory with a registry: `local/parent` may spawn `local/child`, and holds what `local/child` holds. */
export async function createHome(): Promise<Home> {
  const path = mkdtempSync(join(tmpdir(), "mur-roost-test-"));
  const registry = join(path, ".murmur", "artifacts");
  const home: Home = {
    path,
    registry,
    publish: async (name, manifest) =>
      home.publishBytes(name, await packCapsule({ "murmur.yaml": manifest })),
    publishBytes: (name, archive) => publishArchive(registry, name, VERSION, archive),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
  await home.publish("local/parent", manifestOf("parent", "  spawn: {allow: [local/child, local/parent]}\n"));
  await home.publish("local/child", manifestOf("child", ""));
  return home;
}

export function manifestOf(name: string, capabilities: string): string {
  return `name: ${name}\nversion: ${VERSION}\ncapabilities:\n  network: {unix_sockets: false}\n${capabilities}`;
}

export interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Put before the executable: `strace`, `setpriv`, … */
  readonly prefix?: readonly string[];
  /** Another copy of it. */
  readonly binary?: string;
}

/** Starts the compiled daemon; `local/parent` may register without an approval. */
export function startCompiled(home: Home, options: StartOptions = {}): Promise<DaemonProcess> {
  return startDaemonProcess({
    command: [...(options.prefix ?? []), options.binary ?? BINARY],
    args: ["--port", "0", "--spawn-allow", "local/parent", ...(options.args ?? [])],
    home: home.path,
    env: options.env ?? {},
    cwd: home.path,
  });
}

/** One daemon on one home for all tests of the file that calls this. */
export function sharedDaemon(options: StartOptions = {}) {
  return shared(
    async () => {
      const home = await createHome();
      return { home, daemon: await startCompiled(home, options) };
    },
    async ({ home, daemon }) => {
      await daemon.stop();
      home.remove();
    },
  );
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** One request by the runtime's own client; a body makes it a POST. */
export async function ask(
  daemon: { readonly port: number },
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${daemon.port}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Registers a root; gives its credential. */
export async function registerRoot(daemon: { readonly port: number }, id: string): Promise<string> {
  const { status, body } = await ask(daemon, "/register", {
    session_id: id,
    name: "local/parent",
    version: VERSION,
  });
  if (status !== 200) throw new Error(`/register answered ${status}: ${JSON.stringify(body)}`);
  return String(body.credential);
}

/** Asks to spawn; the answer as it comes. */
export function askSpawn(
  daemon: { readonly port: number },
  credential: string,
  name = "local/child",
): Promise<Answer> {
  return ask(daemon, "/spawn", { name, version: VERSION }, { "x-murmur-spawn-credential": credential });
}
