/**
 * Rows that are measured one event at a time: how long it takes, and how long others wait meanwhile. Each subject is
 * an artifact that has not been requested before.
 */

import { MAX_MANIFEST_BYTES } from "../src/registry/manifest.ts";
import { CHILD, type Host, SUBJECT } from "./host.ts";
import type { Latencies } from "./latencies.ts";
import { repeated, runLoad } from "./load.ts";
import { healthRequest, spawnRequest } from "./requests.ts";
import { median, type Row } from "./row.ts";
import type { Server } from "./server.ts";
import { register, type Session } from "./sessions.ts";

interface EventCase {
  readonly id: string;
  readonly what: string;
  /** The files of the archive. */
  readonly files: () => Readonly<Record<string, string | Uint8Array>>;
  /** The expected status: some artifacts are refused. */
  readonly expect: number;
  /** How long the event itself may take, and how long anyone else may wait for an answer, in milliseconds. */
  readonly within?: number;
  readonly othersWithin?: number;
  readonly target: string;
}

const MANIFEST = `name: subject
version: 1.0.0
capabilities:
  network:
    allow: [api-1.example.com]
  filesystem:
    scope: notes
  containment: scoped
`;

/** Bytes that cannot be compressed. */
function noise(bytes: number): Uint8Array {
  const filled = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) crypto.getRandomValues(filled.subarray(at, at + 65_536));
  return filled;
}

/** A manifest of the largest size, full of entries of one list. */
function largestManifest(): string {
  const head =
    "name: subject\nversion: 1.0.0\ncapabilities:\n  containment: scoped\n  network:\n    allow:\n";
  const line = (index: number) => `      - api-1.example.com/${index.toString().padStart(8, "0")}\n`;
  const entries = Math.floor((MAX_MANIFEST_BYTES - head.length) / line(0).length);
  return head + Array.from({ length: entries }, (_, index) => line(index)).join("");
}

/** A manifest of the largest size, full of empty lists. */
function emptyLists(): string {
  const head =
    "name: subject\nversion: 1.0.0\ncapabilities: {containment: scoped, filesystem: {scope: notes/a}}\ny: [";
  const room = Math.floor((MAX_MANIFEST_BYTES - head.length - 1) / 3);
  return `${head}${"[],".repeat(room)}]`;
}

export function eventCases(coldMiB: number): readonly EventCase[] {
  return [
    {
      id: "replaced",
      what: "`/spawn` of an artifact that was just replaced, 5 MB",
      files: () => ({ "murmur.yaml": MANIFEST, "bin/tool": noise(5_000_000) }),
      expect: 200,
      within: 40,
      target: "40 ms; others not delayed",
    },
    {
      id: "cold",
      what: `\`/spawn\` of a cold artifact of ${coldMiB} MiB`,
      files: () => ({ "murmur.yaml": MANIFEST, "bin/tool": noise(coldMiB * 1024 * 1024) }),
      expect: 200,
      othersWithin: 50,
      target: "others wait < 50 ms",
    },
    {
      id: "bomb",
      what: "unpacking bomb: a manifest of 64 MiB",
      files: () => ({ "murmur.yaml": new Uint8Array(64 * 1024 * 1024).fill(0x23) }),
      expect: 500,
      othersWithin: 300,
      target: "others wait < 300 ms",
    },
    {
      id: "empty-lists",
      what: "the largest manifest, full of empty lists",
      files: () => ({ "murmur.yaml": emptyLists() }),
      expect: 200,
      othersWithin: 20,
      target: "others wait < 20 ms",
    },
    {
      id: "largest",
      what: "the largest manifest that is allowed",
      files: () => ({ "murmur.yaml": largestManifest() }),
      // Thousands of network entries that the parent does not hold.
      expect: 403,
      othersWithin: 300,
      target: "others wait < 300 ms",
    },
  ];
}

/** A row for the event itself, one for repeating the request, and one for how long others wait meanwhile. */
export async function measureEvent(
  host: Host,
  server: Server,
  one: EventCase,
  repeats: number,
): Promise<Row[]> {
  const session = await register(server);
  const ask = spawnRequest(session.credential, SUBJECT);
  const first: number[] = [];
  const again: number[] = [];
  const others: number[] = [];
  const quiet: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    await host.publish(SUBJECT, one.files());
    // Files that changed a moment ago are not remembered, so wait.
    await Bun.sleep(50);
    quiet.push((await probeWhile(server, session, Bun.sleep(50))).max);
    const event = timeOf(server, ask, one.expect);
    others.push((await probeWhile(server, session, event)).max);
    first.push(await event);
    again.push(await timeOf(server, ask, one.expect));
  }
  const longest = Math.max(...first);
  const waited = Math.max(...others);
  const { id, what, target, within, othersWithin } = one;
  return [
    {
      id,
      what,
      target,
      unit: "ms",
      median: median(first),
      p99Ms: longest,
      met: within === undefined ? undefined : median(first) < within,
      note: `asked again: ${median(again).toFixed(2)} ms`,
    },
    {
      id: `${id}-others`,
      what: "— longest wait of another session's `/health` and `/spawn` meanwhile",
      target: "",
      unit: "ms",
      median: median(others),
      p99Ms: waited,
      met: othersWithin === undefined ? undefined : median(others) < othersWithin,
      note: `without it: ${median(quiet).toFixed(2)} ms`,
    },
  ];
}

async function timeOf(server: Server, request: Uint8Array, expect: number): Promise<number> {
  const load = { port: server.port, connections: 1, next: repeated(request, 1), expect };
  return (await runLoad(load)).latencies.max;
}

/** Requests `/health` and a warm `/spawn` in turn until the event ends. */
export async function probeWhile(
  server: Server,
  session: Session,
  event: Promise<unknown>,
): Promise<Latencies> {
  const requests = [healthRequest(), spawnRequest(session.credential, CHILD)];
  let over = false;
  let turn = 0;
  const probing = runLoad({
    port: server.port,
    connections: 1,
    expect: 200,
    next: () => (over ? undefined : requests[turn++ % 2]),
  });
  await event;
  over = true;
  return (await probing).latencies;
}
