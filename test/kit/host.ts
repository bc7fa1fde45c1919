/** A host for one test: a HOME with a registry, the compiled daemon on a free port, and a caller for its API. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiledBinary } from "./binary.ts";
import { type DaemonProcess, startDaemonProcess } from "./daemon-process.ts";
import { packCapsule, publishArchive } from "./publish.ts";

/** Of every capsule that a test publishes without saying another. */
export const VERSION = "0.1.0";

export interface Host extends AsyncDisposable {
  readonly home: string;
  readonly registry: string;
  /** Publishes a capsule; `body` follows `name:` and `version:`. Gives the archive's hash. */
  publish(name: string, body?: string, version?: string): Promise<string>;
  /** Publishes a capsule with this manifest, valid or not. */
  publishManifest(name: string, manifest: string): Promise<string>;
  /** Publishes these bytes as an archive, valid or not. */
  publishBytes(name: string, archive: Uint8Array): string;
  /** Starts the compiled daemon on this host's registry. */
  start(args?: readonly string[], options?: StartOptions): Promise<Daemon>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Put before the executable: `strace`, `setpriv`, … */
  readonly prefix?: readonly string[];
  /** Another copy of it. */
  readonly binary?: string;
}

/** A listening daemon and its callers. */
export interface Daemon extends DaemonProcess {
  readonly caller: Caller;
}

/** `flags` are given to every daemon that it starts. Its end is theirs too. */
export function createHost(flags: readonly string[] = []): Host {
  const home = mkdtempSync(join(tmpdir(), "mur-roost-test-"));
  const registry = join(home, ".murmur", "artifacts");
  const daemons: Promise<DaemonProcess>[] = [];
  const ending = new AbortController();
  return {
    home,
    registry,
    publish: (name, body, version) => publishCapsule(registry, name, body, version),
    publishManifest: async (name, manifest) =>
      publishArchive(registry, name, VERSION, await packCapsule({ "murmur.yaml": manifest })),
    publishBytes: (name, archive) => publishArchive(registry, name, VERSION, archive),
    async start(args = [], { env = {}, prefix = [], binary = compiledBinary() } = {}) {
      const starting = startDaemonProcess({
        command: [...prefix, binary],
        args: ["--port", "0", ...flags, ...args],
        home,
        env,
        cwd: home,
        signal: ending.signal,
      });
      daemons.push(starting);
      const daemon = await starting;
      return { ...daemon, caller: Caller.of(daemon) };
    },
    async [Symbol.asyncDispose]() {
      // Also one that does not listen yet, for which a test may have waited in vain.
      ending.abort();
      for (const started of await Promise.allSettled(daemons)) {
        if (started.status === "fulfilled") await started.value.kill("SIGKILL");
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export async function publishCapsule(
  registry: string,
  name: string,
  body = "",
  version = VERSION,
): Promise<string> {
  const manifest = `name: ${name.slice(name.indexOf("/") + 1)}\nversion: ${version}\n${body}`;
  return publishArchive(registry, name, version, await packCapsule({ "murmur.yaml": manifest }));
}

/** A manifest body that may spawn these names. */
export function spawns(...names: string[]): string {
  return `capabilities:\n  spawn:\n    allow: [${names.join(", ")}]\n`;
}

/** What came back: the status, the bytes as they came, and the JSON in them. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, string | number>;
}

/** How one asks, over a socket or in the process. */
export type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** The five endpoints, as a runtime calls them. */
export class Caller {
  constructor(readonly fetch: Fetch) {}

  static of({ port }: { readonly port: number }): Caller {
    return new Caller((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init));
  }

  async send(path: string, init?: RequestInit): Promise<Answer> {
    const response = await this.fetch(path, init);
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text) };
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(path, {
      method: "POST",
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  register(session_id: string, name: string, approval?: string, version = VERSION): Promise<Answer> {
    const headers = approval === undefined ? undefined : { "x-murmur-spawn-approval": approval };
    return this.post("/register", { session_id, name, version }, headers);
  }

  spawn(credential: string, name: string, version = VERSION): Promise<Answer> {
    return this.post("/spawn", { name, version }, { "x-murmur-spawn-credential": credential });
  }

  deregister(credential: string, outcome = "complete"): Promise<Answer> {
    return this.post("/deregister", { outcome }, { "x-murmur-spawn-credential": credential });
  }

  status(session: string): Promise<Answer> {
    return this.send(`/status/${session}`);
  }

  /** Registers and returns the credential. */
  async credential(session: string, name: string, approval?: string): Promise<string> {
    return textOf(await this.register(session, name, approval), "credential");
  }

  /** Asks and returns the approval. */
  async approval(credential: string, name: string): Promise<string> {
    return textOf(await this.spawn(credential, name), "approval");
  }
}

function textOf(answer: Answer, key: string): string {
  const value = answer.json[key];
  if (answer.status !== 200 || typeof value !== "string") throw new Error(`${answer.status} ${answer.text}`);
  return value;
}

export const IDENTITY_REFUSAL =
  "not authorised: this daemon answers only a credential it minted for a running session, and an approval it minted for that same session";
