/** The composition root: census, authority, sessions, app, listen, announce, stop. */

import { availableParallelism } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { createApp } from "./api/app.ts";
import { takeCensus } from "./census/census.ts";
import type { Flags } from "./cli/flags.ts";
import { directoryFault, threadsFault } from "./host.ts";
import { createDecisionLog, type DecisionLog } from "./log/decision-log.ts";
import { announce, stderrLines } from "./log/stderr.ts";
import { describeOsError } from "./os-error.ts";
import { defaultCeiling } from "./referee/bounds.ts";
import { lowerManifest } from "./referee/envelope.ts";
import { READINGS_AT_ONCE } from "./registry/lanes.ts";
import { readManifestInSlices } from "./registry/manifest.ts";
import { Registry } from "./registry/registry.ts";
import { SpareDescriptors } from "./registry/spare-descriptors.ts";
import { Sessions } from "./sessions/sessions.ts";
import { inSlices } from "./slices.ts";
import { type Authority, createAuthority } from "./tokens/authority.ts";

/** A daemon that listens. */
export interface Daemon {
  readonly port: number;
  /** Stops accepting, answers what is in flight, and overwrites its keys. Resolves within two seconds. */
  stop(): Promise<void>;
}

/** A client that sends nothing, or stops reading, is disconnected after this long. */
const IDLE_SECONDS = 10;
const STOP_GRACE_MS = 1500;
/** The part of the two seconds left for writing the log. */
const LAST_LINES_MS = 300;
/** No limit in the parser, so that the application answers a body that is too large. */
const PARSER_BODY_BYTES = Number.MAX_SAFE_INTEGER;

/** Starts the daemon, or says in one sentence why it cannot start; then no port is bound. */
export function startDaemon(
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): { readonly ok: true; readonly daemon: Daemon } | { readonly ok: false; readonly fault: string } {
  const cores = availableParallelism();
  const tooFew = threadsFault(cores);
  if (tooFew !== undefined) return { ok: false, fault: tooFew };

  const home = environment.HOME ?? "";
  const counting = performance.now();
  const taken = isAbsolute(home)
    ? takeCensus(join(home, ".murmur", "running"))
    : { ok: false as const, fault: unresolvedHome(environment.HOME) };
  if (!taken.ok) {
    return { ok: false, fault: `cannot count the capsules already running on this host: ${taken.fault}` };
  }
  const countedIn = performance.now() - counting;
  announce(
    `${taken.live} live capsules already running on this host, counted from ${join(home, ".murmur", "running")} (${taken.read} records read in ${countedIn.toFixed(1)} ms; ${taken.stale} stale and ${taken.unreadable} unreadable not counted)`,
  );

  const limits = {
    maxDepth: flags.maxDepth,
    maxConcurrent: flags.maxConcurrent,
    maxLiveCapsules: flags.maxLiveCapsules ?? defaultCeiling(cores),
  };
  const authority = createAuthority({
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    wall: Date.now,
  });
  const registryPath = resolve(flags.registryPath ?? join(home, ".murmur", "artifacts"));
  const log = createDecisionLog(environment, stderrLines);
  const app = createApp({
    limits,
    spawnAllow: flags.spawnAllow,
    authority,
    sessions: new Sessions(() => performance.now()),
    registry: new Registry({
      path: registryPath,
      readManifest: readManifestInSlices,
      lower: (manifest) => inSlices(lowerManifest(manifest)),
      descriptors: new SpareDescriptors(READINGS_AT_ONCE),
    }),
    census: taken.census,
    log,
    wall: Date.now,
  });

  const server = listen(flags.port, (request, server) =>
    app.fetch(request, () => server.requestIP(request)?.port),
  );
  if (typeof server === "string") {
    return { ok: false, fault: `failed to bind port ${flags.port}: ${server}` };
  }
  const port = server.port ?? flags.port;
  announce(`listening on 127.0.0.1:${port}`);
  announce(`machine ceiling ${limits.maxLiveCapsules} live capsules (--max-live-capsules)`);
  const missing = directoryFault(registryPath);
  if (missing !== undefined) announce(`warning: no artifact can be read from the registry: ${missing}`);
  return { ok: true, daemon: { port, stop: () => stop(server, authority, log) } };
}

function unresolvedHome(home: string | undefined): string {
  const why =
    home === undefined
      ? "HOME is not set in the environment"
      : home === ""
        ? "HOME is empty"
        : "HOME is not an absolute path";
  return `the home directory could not be resolved: ${why}`;
}

type Server = Bun.Server<undefined>;

/** The listening server, or the OS error. */
function listen(
  port: number,
  fetch: (request: Request, server: Server) => Response | Promise<Response>,
): Server | string {
  try {
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      // `development: false` would turn this on, and two daemons would silently share the port.
      reusePort: false,
      development: false,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: PARSER_BODY_BYTES,
      fetch,
      error: () => Response.json({ error: "the daemon failed to answer this request" }, { status: 500 }),
    });
  } catch (error) {
    return describeOsError(error);
  }
}

async function stop(server: Server, authority: Authority, log: DecisionLog): Promise<void> {
  const grace = Promise.withResolvers<void>();
  const timer = setTimeout(grace.resolve, STOP_GRACE_MS);
  await Promise.race([server.stop(), grace.promise]);
  clearTimeout(timer);
  // Close the connections that are still open.
  void server.stop(true);
  authority.destroy();
  log.close();
  await stderrLines.finish(LAST_LINES_MS);
}
