/** Causes every kind of refusal very often. No refusal may leave anything in memory. */

import { CHILD, createHost, MISSING, PARENT } from "../../bench/host.ts";
import type { Subject } from "../../bench/interleave.ts";
import { repeated, runLoad } from "../../bench/load.ts";
import { rawRequest, registerRequest } from "../../bench/requests.ts";
import type { Server } from "../../bench/server.ts";
import { CONNECTIONS, register, type Session, spawnMany } from "../../bench/sessions.ts";
import { refusals as refusedSpawns } from "../../bench/throughput.ts";
import { EXECUTABLE, residentMegabytes } from "./daemon.ts";
import type { Outcome } from "./outcome.ts";

/** How many of each kind to cause before memory is first measured. */
const WARM = 20_000;
const RECONNECT_SHARE = 20;
/** The factor by which memory may have grown in the end. */
const GROWTH = 1.1;

interface Kind {
  readonly what: string;
  readonly server: Server;
  readonly status: number;
  readonly request: Uint8Array;
  /**
   * Whether its answer closes the connection. The daemon waits up to 100 ms for more of such a request's body, so it is made
   * a twentieth as often.
   */
  readonly reconnect?: true;
}

export async function soakRefusals(_home: string, each: number): Promise<Outcome> {
  const host = await createHost(EXECUTABLE);
  try {
    const various = await host.daemon("various");
    const kinds = [...(await spawnKinds(host, various)), ...(await otherKinds(various))];
    const servers = [...new Set(kinds.map(({ server }) => server))];
    for (const kind of kinds) await ask(kind, WARM);
    const first = servers.map(({ pid }) => residentMegabytes(pid));
    const rows: [string, string | number][] = [["refusals of each kind", each]];
    for (const kind of kinds) {
      await ask(kind, each);
      rows.push([kind.what, `${residentMegabytes(kind.server.pid)} MB`]);
    }
    const last = servers.map(({ pid }) => residentMegabytes(pid));
    rows.push(["memory first, MB", first.join(", ")], ["memory last, MB", last.join(", ")]);
    const grown = last.filter((megabytes, index) => megabytes > (first[index] ?? 0) * GROWTH);
    return { rows, faults: grown.map((megabytes) => `memory has grown to ${megabytes} MB`) };
  } finally {
    await host.stopAll();
    host.remove();
  }
}

/** @throws on a wrong answer */
async function ask({ server, status, request, reconnect }: Kind, count: number): Promise<void> {
  await runLoad({
    port: server.port,
    connections: CONNECTIONS,
    expect: status,
    next: repeated(request, reconnect ? count / RECONNECT_SHARE : count),
    ...(reconnect && { reconnect }),
  });
}

async function spawnKinds(host: Parameters<typeof refusedSpawns>[0], various: Server): Promise<Kind[]> {
  const subjects: readonly Subject[] = await refusedSpawns(host, various);
  const kinds: Kind[] = [];
  for (const { what, server, prepare } of subjects) {
    const drive = await prepare();
    if (drive.kind === "own") continue;
    const request = drive.next(0);
    if (request) kinds.push({ what, server, status: drive.expect, request });
  }
  return kinds;
}

async function otherKinds(server: Server): Promise<Kind[]> {
  const running = await register(server);
  const redeemed = await redeemedApproval(server, running);
  const credential = { "x-murmur-spawn-credential": running.credential };
  const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    rawRequest("POST", path, headers, body);
  const kind = (what: string, status: number, request: Uint8Array): Kind => ({
    what,
    server,
    status,
    request,
  });
  return [
    kind("refused `/register` (403): not in --spawn-allow", 403, registerRequest("ses_new", CHILD)),
    kind("refused `/register` (403): id was used", 403, registerRequest(running.id, PARENT)),
    kind("refused `/register` (403): approval not valid", 403, registerRequest("ses_new", CHILD, "x")),
    kind("refused `/register` (403): approval redeemed, later expired", 403, redeemed),
    kind("refused `/register` (500): not in the registry", 500, registerRequest("ses_new", MISSING, "x")),
    kind("refused `/register` (400): empty id", 400, registerRequest("", PARENT)),
    kind("refused `/deregister` (400): no outcome", 400, post("/deregister", '{"outcome":"x"}', credential)),
    kind("refused `/deregister` (403): no credential", 403, post("/deregister", '{"outcome":"failed"}')),
    kind("refused `/status` (404): unknown session", 404, rawRequest("GET", "/status/ses_nobody")),
    kind("no such path (404)", 404, rawRequest("GET", "/nowhere")),
    kind("no such method (404)", 404, rawRequest("PUT", "/spawn")),
    kind("of a web page (403)", 403, rawRequest("GET", "/health", { origin: "null" })),
    {
      ...kind("body too large (413)", 413, rawRequest("POST", "/spawn", { "content-length": "70000" })),
      reconnect: true,
    },
  ];
}

async function redeemedApproval(server: Server, session: Session): Promise<Uint8Array> {
  const [approval] = await spawnMany(server, session, 1);
  await register(server, approval);
  return registerRequest("ses_new", CHILD, approval);
}
