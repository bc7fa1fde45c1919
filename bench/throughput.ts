/** The throughput rows: the servers they need, and the requests that each sends. */

import { CHILD, GREEDY, type Host, MISSING, STRANGER } from "./host.ts";
import type { Drive, Subject } from "./interleave.ts";
import { healthRequest, rawSpawnRequest, registerRequest, spawnRequest, statusRequest } from "./requests.ts";
import { writeSurvivors } from "./running.ts";
import type { Server } from "./server.ts";
import {
  deregister,
  holdReservations,
  newSessionId,
  register,
  runPairs,
  type Session,
  spawnMany,
} from "./sessions.ts";

/** The row that the flat rows and the refusals are compared with. */
export const GRANTED = "spawn";
export const FLOOR = "floor";
export const FLOOR_RECONNECT = "floor-reconnect";

export interface Servers {
  readonly floor: Server;
  /** No history. This one and the next two only get requests that are granted, so all three are equally warm. */
  readonly fresh: Server;
  /** One session holds many reservations. */
  readonly held: Server;
  /** Many sessions have come and gone. */
  readonly finished: Server;
  /** Everything else. */
  readonly various: Server;
}

const always = (request: Uint8Array, expect = 200) => ({ next: () => request, expect });

type Named = Pick<Subject, "id" | "what" | "target">;

/** The floor gets the same bytes as a daemon. */
export async function floorSubject(floor: Server, daemon: Server): Promise<Subject> {
  const { credential } = await register(daemon);
  const drive = always(spawnRequest(credential, CHILD));
  return {
    id: FLOOR,
    what: "floor: parse, one HMAC, respond",
    target: "",
    server: floor,
    prepare: () => drive,
  };
}

/** Warm `/spawn` requests of a session that holds nothing at first. */
export function grantedSubject(server: Server, named: Named): Subject {
  const prepare = freshSession(server, ({ credential }) => always(spawnRequest(credential, CHILD)));
  return { ...named, server, prepare };
}

/** The servers of the flat rows are passed in; the others are started here. */
export async function throughputSubjects(
  host: Host,
  servers: Servers,
  options: { readonly reservations: number; readonly finished: number },
): Promise<Subject[]> {
  const { floor, fresh, held, finished, various } = servers;
  const holder = await register(held);
  const anySpawn = always(spawnRequest((await register(fresh)).credential, CHILD));
  const reservations = options.reservations.toLocaleString("en-US");
  return [
    await floorSubject(floor, fresh),
    grantedSubject(fresh, {
      id: GRANTED,
      what: "`/spawn` warm, granted",
      target: "15,000/s; half of the floor; p99 < 5 × p50",
    }),
    {
      id: "spawn-held",
      what: `the same, ${reservations} reservations held by the asking session`,
      target: "within 10 %",
      server: held,
      async prepare() {
        await holdReservations(held, holder, options.reservations);
        return always(spawnRequest(holder.credential, CHILD));
      },
    },
    grantedSubject(finished, {
      id: "spawn-finished",
      what: `the same, ${options.finished.toLocaleString("en-US")} sessions have come and gone`,
      target: "within 10 %",
    }),
    {
      id: FLOOR_RECONNECT,
      what: "floor, a new connection for each request",
      target: "",
      server: floor,
      prepare: () => ({ ...anySpawn, reconnect: true }),
    },
    {
      id: "spawn-reconnect",
      what: "`/spawn` warm, a new connection for each request",
      target: "8,000/s",
      server: various,
      prepare: freshSession(various, ({ credential }) => ({
        ...always(spawnRequest(credential, CHILD)),
        reconnect: true,
      })),
    },
    {
      id: "health",
      what: "`/health`",
      target: "7,900/s",
      server: various,
      prepare: () => always(healthRequest()),
    },
    pairs(various),
    await survivors(host),
    ...(await refusals(host, various)),
  ];
}

/** A new session for each slice. The previous one is retired, which frees its slots. */
function freshSession(server: Server, drive: (session: Session) => Drive): () => Promise<Drive> {
  let last: Session | undefined;
  return async () => {
    if (last) await deregister(server, last);
    last = await register(server);
    return drive(last);
  };
}

/** More than a slice can use. */
const APPROVALS_A_SECOND = 12_000;

function pairs(server: Server): Subject {
  return {
    id: "pairs",
    what: "`/register` + `/deregister` of a delegated child, pairs",
    target: "5,000/s",
    server,
    requestsPerUnit: 2,
    prepare: () => ({
      kind: "own",
      async run(forMs) {
        const parent = await register(server);
        const approvals = await spawnMany(server, parent, Math.ceil((APPROVALS_A_SECOND * forMs) / 1000));
        const requests = approvals.map((approval) => registerRequest(newSessionId(), CHILD, approval));
        const result = await runPairs(server, { registration: () => requests.pop(), forMs });
        await deregister(server, parent);
        return result;
      },
    }),
  };
}

async function survivors(host: Host): Promise<Subject> {
  const home = host.home("survivors");
  writeSurvivors(home, { records: 256, live: 256 });
  const server = await host.daemon("survivors", { home });
  const session = await register(server);
  return {
    id: "status-survivors",
    what: "`/status`, 256 startup survivors live, one client",
    target: "p50 < 0.3 ms",
    server,
    prepare: () => ({ ...always(statusRequest(session.id)), connections: 1 }),
  };
}

/** Each refusal of `/spawn` that the API page lists. */
export async function refusals(host: Host, various: Server): Promise<Subject[]> {
  const full = await host.daemon("full", { maxLiveCapsules: 0 });
  const narrow = await host.daemon("narrow", { maxDepth: 1, maxConcurrent: 1 });
  const running = await register(various);
  const retired = await register(various);
  await deregister(various, retired);
  const blocked = await register(full);
  const parent = await register(narrow);
  const [approval] = await spawnMany(narrow, parent, 1);
  const leaf = await register(narrow, approval);
  const body = JSON.stringify(CHILD);
  const cases: readonly (readonly [string, Server, number, Uint8Array])[] = [
    ["body is not JSON", various, 400, rawSpawnRequest(running.credential, body.slice(1))],
    ["field missing", various, 400, rawSpawnRequest(running.credential, '{"name":"local/child"}')],
    ["no full name", various, 400, rawSpawnRequest(running.credential, '{"name":"child","version":"1.0.0"}')],
    ["no credential", various, 403, spawnRequest(undefined, CHILD)],
    ["credential not valid", various, 403, spawnRequest(`${running.credential.slice(0, -4)}AAAA`, CHILD)],
    ["session not running", various, 403, spawnRequest(retired.credential, CHILD)],
    ["name not in the list", various, 403, spawnRequest(running.credential, STRANGER)],
    ["no depth left", narrow, 403, spawnRequest(leaf.credential, CHILD)],
    ["machine ceiling", full, 403, spawnRequest(blocked.credential, CHILD)],
    ["concurrency", narrow, 403, spawnRequest(parent.credential, CHILD)],
    ["envelope", various, 403, spawnRequest(running.credential, GREEDY)],
    ["not in the registry", various, 500, spawnRequest(running.credential, MISSING)],
  ];
  return cases.map(([why, server, status, request]) => ({
    id: `refused-${why.replaceAll(" ", "-").toLowerCase()}`,
    what: `refused \`/spawn\` (${status}): ${why}`,
    target: "not slower than granted",
    server,
    prepare: () => always(request, status),
  }));
}
