/** The daemon's application behind its own real socket, in this process. */

import { createApp } from "../../src/api/app.ts";
import type { Context } from "../../src/api/context.ts";
import { createHost } from "../kit/host.ts";
import { type InProcess, inProcess } from "../kit/in-process.ts";
import { shared } from "../kit/shared.ts";

export interface Served extends AsyncDisposable {
  readonly port: number;
  /** Requests that came so far. */
  requests(): number;
}

function serve(context: Context): Served {
  const app = createApp(context);
  let requests = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request, server) {
      requests++;
      return app.fetch(request, () => server.requestIP(request)?.port, true);
    },
  });
  return { port: server.port ?? 0, requests: () => requests, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** One for all tests of the file that calls this; `local/root` may register. */
export function sharedServed(): () => InProcess & Served {
  return shared(async (undo) => {
    const host = undo.use(createHost());
    await host.publish("local/root");
    const daemon = inProcess(host.registry, { spawnAllow: ["local/root"] });
    return { ...daemon, ...undo.use(serve(daemon.context)) };
  });
}
