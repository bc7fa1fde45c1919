/** The composition root: host, census, authority, sessions, app, listen, announce, stop. */

import { statSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import { isAbsolute } from "node:path";
import { type App, createApp } from "./api/app.ts";
import { isSessionId } from "./api/schemas.ts";
import { type Census, takeCensus } from "./census/census.ts";
import type { Flags } from "./cli/flags.ts";
import { BODY_DEADLINE_SECONDS } from "./json-body.ts";
import { createDecisionLog, type DecisionLog } from "./log/decision-log.ts";
import { announce, stderrLines } from "./log/stderr.ts";
import { describeErrno, describeOsError } from "./os-error.ts";
import { absolutePath, pathBelow } from "./paths.ts";
import { defaultCeiling } from "./referee/bounds.ts";
import { lowerManifest } from "./referee/envelope.ts";
import { READINGS_AT_ONCE } from "./registry/lanes.ts";
import { readManifestInSlices } from "./registry/manifest.ts";
import { Registry } from "./registry/registry.ts";
import { SpareDescriptors } from "./registry/spare-descriptors.ts";
import { fault, ok, type Result } from "./result.ts";
import { Sessions } from "./sessions/sessions.ts";
import { inSlices } from "./slices.ts";
import { threadsToBeHad } from "./sys/this-process.ts";
import { type Authority, createAuthority } from "./tokens/authority.ts";

/** A daemon that listens. */
export interface Daemon {
  readonly port: number;
  /** Stops accepting, answers what is in flight, and overwrites its keys. Resolves within two seconds. */
  stop(): Promise<void>;
}

/**
 * A client that sends nothing, or stops reading, is disconnected after this long, or up to 4 s earlier. A body has a deadline
 * of its own, which comes first and is answered.
 */
const IDLE_SECONDS = BODY_DEADLINE_SECONDS + 6;
const STOP_GRACE_MS = 1500;
/** The part of the two seconds left for writing the log. */
const LAST_LINES_MS = 300;
/** No limit in the parser, so that the application answers a body that is too large. */
const PARSER_BODY_BYTES = Number.MAX_SAFE_INTEGER;

/**
 * Starts the daemon, or says in one sentence why it cannot start; then no port is bound. A signal is heard while the
 * running capsules are counted; the rest runs in one turn of the event loop.
 *
 * @param isStopping asked once they are counted. If it says so, nothing is started: the result is `undefined`
 */
export async function startDaemon(
  flags: Flags,
  environment: NodeJS.ProcessEnv,
  isStopping: () => boolean,
): Promise<Result<Daemon | undefined, string>> {
  const cores = availableParallelism();
  const tooFew = threadsFault(cores);
  if (tooFew !== undefined) return fault(tooFew);
  const census = await countRunning(environment.HOME);
  if (!census.ok) return fault(`cannot count the capsules already running on this host: ${census.fault}`);
  if (isStopping()) return ok(undefined);

  const limits = {
    maxDepth: flags.maxDepth,
    maxConcurrent: flags.maxConcurrent,
    maxLiveCapsules: flags.maxLiveCapsules ?? defaultCeiling(cores),
  };
  const authority = createAuthority({
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    wall: Date.now,
  });
  const registryPath = absolutePath(
    flags.registryPath ?? pathBelow(environment.HOME ?? "", ".murmur", "artifacts"),
  );
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
    census: census.value,
    log,
    wall: Date.now,
  });

  const listening = listen(flags.port, app);
  if (!listening.ok) return fault(`failed to bind port ${flags.port}: ${listening.fault}`);
  const server = listening.value;
  const port = server.port ?? flags.port;
  announce(`listening on 127.0.0.1:${port}`);
  announce(`machine ceiling ${limits.maxLiveCapsules} live capsules (--max-live-capsules)`);
  const missing = directoryFault(registryPath);
  if (missing !== undefined) announce(`warning: no artifact can be read from the registry: ${missing}`);
  return ok({ port, stop: () => stop(server, authority, log) });
}

/**
 * Why the runtime could not get all the threads it may need later, for its collector, its compiler and its pool. It ends
 * the process if it cannot start one, so the daemon checks at its start.
 */
function threadsFault(cores: number): string | undefined {
  const wanted = 7 + Math.min(cores, 8);
  const had = threadsToBeHad(wanted);
  if (had >= wanted) return undefined;
  return `cannot start: this process may have ${had} threads, and it needs ${wanted}; raise the limit of processes for its user (ulimit -u, or TasksMax of its unit)`;
}

/** Counts the capsules that run already, and announces the count; or says why it cannot. */
async function countRunning(home: string | undefined): Promise<Result<Census, string>> {
  if (home === undefined) return unresolvedHome("HOME is not set in the environment");
  if (home === "") return unresolvedHome("HOME is empty");
  if (!isAbsolute(home)) return unresolvedHome("HOME is not an absolute path");
  // Its bytes are lost: what stands there instead is another directory, or none.
  if (home.includes("\ufffd")) return unresolvedHome("HOME is not valid UTF-8");
  const directory = pathBelow(home, ".murmur", "running");
  const begun = performance.now();
  const taken = await inSlices(takeCensus(directory));
  if (!taken.ok) return taken;
  const { census, live, read, stale, unreadable } = taken;
  const ms = (performance.now() - begun).toFixed(1);
  announce(
    `${live} live capsules already running on this host, counted from ${directory} (${read} records read in ${ms} ms; ${stale} stale and ${unreadable} unreadable not counted)`,
  );
  return ok(census);
}

function unresolvedHome(why: string): Result<never, string> {
  return fault(`the home directory could not be resolved: ${why}`);
}

/** Why a path is not a directory: the path, and the OS error. */
function directoryFault(path: string): string | undefined {
  try {
    if (statSync(path).isDirectory()) return undefined;
    return `${path}: ${describeErrno("ENOTDIR", constants.errno.ENOTDIR)}`;
  } catch (error) {
    return `${path}: ${describeOsError(error)}`;
  }
}

type Server = Bun.Server<undefined>;

/** The listening server, or the OS error. */
function listen(port: number, app: App): Result<Server, string> {
  const answer = (request: Request, server: Server, isExact: boolean) =>
    app.fetch(request, () => server.requestIP(request)?.port, isExact);
  // The server's own router sees each path as it was sent. Everything else goes to `fetch`.
  const ofRoute = (request: Bun.BunRequest, server: Server) =>
    answer(request, server, Object.values(request.params).every(isSessionId));
  try {
    return ok(
      Bun.serve({
        hostname: "127.0.0.1",
        port,
        // `development: false` would turn this on, and two daemons would silently share the port.
        reusePort: false,
        development: false,
        idleTimeout: IDLE_SECONDS,
        maxRequestBodySize: PARSER_BODY_BYTES,
        routes: Object.fromEntries(app.paths.map((path) => [path, ofRoute])),
        fetch: (request, server) => answer(request, server, false),
        error: () => Response.json({ error: "the daemon failed to answer this request" }, { status: 500 }),
      }),
    );
  } catch (error) {
    return fault(describeOsError(error));
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
