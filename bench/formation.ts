/**
 * `npm run bench:formation`: how long it takes to inspect a formation, on registries made for this and deleted afterwards.
 *
 * Prints for each registry the median of a few whole runs of the command, at the default depth of 3. The wall time needs an
 * otherwise idle machine; the processor time is valid on a shared one too.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";
import { median } from "./row.ts";

const COMMAND = join(import.meta.dir, "../src/cli/formation/main.ts");

interface Subject {
  readonly runs: number;
  readonly what: string;
  /** The capsules that each capsule lists. The first capsule is the root. */
  readonly lists: readonly (readonly number[])[];
}

const SIZE = 1000;
const EDGES = 10;
const ALL = Array.from({ length: SIZE }, (_, capsule) => capsule);
const rooted = (lists: (capsule: number) => readonly number[]) =>
  ALL.map((capsule) => (capsule === 0 ? ALL : lists(capsule)));
const next = (capsule: number) => ALL.slice(0, EDGES).map((edge) => (capsule + edge + 1) % SIZE);
/** A capsule can start only those that list no more than itself, so here each group of ten lists itself. */
const group = (capsule: number) => ALL.slice(0, EDGES).map((edge) => capsule - (capsule % EDGES) + edge);

const SUBJECTS: readonly Subject[] = [
  { runs: 5, what: "1,000 capsules, 10 edges each, spread", lists: ALL.map(next) },
  {
    runs: 5,
    what: "the same below a root that lists them all, in groups that start each other",
    lists: rooted(group),
  },
  { runs: 5, what: "the same, spread, so that nearly every pair is refused", lists: rooted(next) },
  { runs: 1, what: "1,000 capsules that all list each other", lists: rooted(() => ALL) },
];

const directory = mkdtempSync(join(tmpdir(), "mur-roost-bench-"));
try {
  for (const [index, subject] of SUBJECTS.entries()) {
    const registry = join(directory, String(index));
    await publish(registry, subject);
    const runs: Run[] = [];
    while (runs.length < subject.runs) runs.push(await look(registry));
    const wall = median(runs.map(({ wallMs }) => wallMs));
    const processor = median(runs.map(({ processorMs }) => processorMs));
    process.stdout.write(
      `${subject.what}: ${runs[0]?.pairs} pairs in ${wall.toFixed(0)} ms (${processor.toFixed(0)} ms of processor time)\n`,
    );
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** Publishes the capsules. They differ only in what they list. */
async function publish(registry: string, { lists }: Subject): Promise<void> {
  for (const [capsule, children] of lists.entries()) {
    const listed = children.map((child) => `local/c${child}`);
    const manifest = `name: c${capsule}
version: 1.0.0
capabilities:
  network: {allow: [api.example.com, "https://b.example.org:8443"]}
  shell: {allow: [git, jq]}
  spawn: {allow: [${listed.join(", ")}]}
  filesystem: {scope: notes}
`;
    const archive = await packCapsule({ "murmur.yaml": manifest });
    publishArchive(registry, `local/c${capsule}`, "1.0.0", archive);
  }
}

interface Run {
  /** Pairs that were judged. */
  readonly pairs: number;
  readonly wallMs: number;
  /** On all cores together. Valid on a shared machine too. */
  readonly processorMs: number;
}

/** One run of the command, from start to end. */
async function look(registry: string): Promise<Run> {
  const started = performance.now();
  const child = Bun.spawn(
    [process.execPath, COMMAND, "local/c0@1.0.0", "--registry-path", registry, "--format", "json"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const text = await child.stdout.text();
  await child.exited;
  const wallMs = performance.now() - started;
  const { summary } = JSON.parse(text);
  const processor = child.resourceUsage()?.cpuTime.total ?? 0n;
  return { pairs: summary.granted + summary.refused, wallMs, processorMs: Number(processor) / 1000 };
}
