/** The compiled daemon where its stderr cannot tell its port: on one that was free, and another where it was taken. */

import type { Home } from "./kit.ts";
import { ask, BINARY } from "./kit.ts";

export interface MuteDaemon {
  readonly port: number;
  readonly process: Bun.Subprocess;
}

export interface MuteOptions {
  /** Put before the executable. */
  readonly prefix?: readonly string[];
  readonly binary?: string | undefined;
  readonly args?: readonly string[];
  /** In a group of its own, with what it starts. */
  readonly detached?: boolean;
}

/** Starts it with this stderr, and waits until it answers; `local/parent` may register without an approval. */
export async function startMute(
  home: Home,
  stderr: number | "ignore",
  options: MuteOptions = {},
): Promise<MuteDaemon> {
  for (let attempt = 1; ; attempt++) {
    const port = freePort();
    const process = Bun.spawn(
      [
        ...(options.prefix ?? []),
        options.binary ?? BINARY,
        ...["--port", String(port), "--spawn-allow", "local/parent", "--max-live-capsules", "100000"],
        ...(options.args ?? []),
      ],
      {
        env: { HOME: home.path, PATH: globalThis.process.env.PATH ?? "" },
        stdio: ["ignore", "ignore", stderr],
        detached: options.detached === true,
      },
    );
    let ended = false;
    void process.exited.then(() => {
      ended = true;
    });
    while (!ended) {
      if (await isAnswering(port)) return { port, process };
      await Bun.sleep(5);
    }
    // 1 may be a port that somebody else took meanwhile.
    if (process.exitCode !== 1 || attempt === 3) throw new Error(`the daemon ended with ${process.exitCode}`);
  }
}

function freePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  server.stop(true);
  return server.port;
}

const isAnswering = (port: number) =>
  ask({ port }, "/health").then(
    () => true,
    () => false,
  );
