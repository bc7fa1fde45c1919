/** A host with a family: anybody may start `local/parent`, which may spawn `local/child` and holds all its grants. */

import { createHost, type Daemon, type Host, type StartOptions, VERSION } from "./host.ts";
import { shared } from "./shared.ts";

export async function createFamily(): Promise<Host> {
  const host = createHost(["--spawn-allow", "local/parent"]);
  await host.publishManifest(
    "local/parent",
    manifestOf("parent", "  spawn: {allow: [local/child, local/parent]}\n"),
  );
  await host.publishManifest("local/child", manifestOf("child", ""));
  return host;
}

/** A whole manifest; `capabilities` are lines below that key. */
export function manifestOf(name: string, capabilities: string): string {
  return `name: ${name}\nversion: ${VERSION}\ncapabilities:\n  network: {unix_sockets: false}\n${capabilities}`;
}

/** One such host for all tests of the file that calls this; `more` is what else they need. */
export function sharedFamily(more?: (host: Host) => unknown): () => Host {
  return shared(async (undo) => {
    const host = undo.use(await createFamily());
    await more?.(host);
    return host;
  });
}

/** One daemon on such a host for all tests of the file that calls this. */
export function sharedDaemon(args: readonly string[] = [], options: StartOptions = {}): () => Daemon {
  const host = sharedFamily();
  return shared(() => host().start(args, options));
}
