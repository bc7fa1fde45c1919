/**
 * Manifests that are as much work as possible: 256 KiB of distinct entries, on any list, of any shape. Each case is a
 * parent and its child, so that they are read, converted and compared.
 */

import { MAX_MANIFEST_BYTES } from "../src/registry/manifest.ts";
import { createRandom } from "../test/kit/random.ts";
import { type Capsule, PARENT, SUBJECT } from "./host.ts";

/** Two manifests: `local/parent`, which may spawn `local/subject`. */
export interface WorstCase {
  readonly what: string;
  readonly parent: string;
  readonly child: string;
}

/** The longest entry of an allow list. */
const LONGEST_ENTRY_BYTES = 4096;

type Random = () => number;

/** A seeded source of numbers from 0 to 1, so that a case can be repeated. */
export function seeded(seed: number): Random {
  const { below } = createRandom(seed);
  return () => below(2 ** 32) / 2 ** 32;
}

/** Entries by what makes them slow. Each contains a number, so that no two are equal. */
const HOSTS: Readonly<Record<string, (index: number, length: number) => string>> = {
  "short hosts": (index) => index.toString(36),
  "hosts with scheme and port": (index) => `https://${index.toString(36)}:${index % 65536}`,
  "hosts of many labels": (index, length) => `${"a.".repeat(length / 2)}${index}b`,
  "long hosts": (index, length) => `${"a".repeat(length)}${index}`,
  "punycode hosts": (index, length) => `${"xn--a-ecp.".repeat(length / 10)}${index}b`,
  "hosts of distinct ideographs": (index, length) => `${ideographs(index, length / 3)}${index}`,
  "labels of ideographs": (index, length) =>
    `${Array.from({ length: length / 61 }, (_, label) => ideographs(index + 20 * label, 20)).join(".")}${index}b`,
  "hosts of combining marks": (index, length) => `a${"\u0301\u0323".repeat(length / 4)}${index}`,
  "hosts of ligatures that expand": (index, length) => `${"\ufdfa".repeat(length / 3)}${index}`,
  "right-to-left hosts": (index, length) => `${"\u05d0".repeat(length / 2)}${index}`,
  "percent-encoded hosts": (index, length) => `${"%61".repeat(length / 3)}${index}`,
  "numeric hosts": (index, length) => `${"1".repeat(length)}${index}`,
  "unreadable hosts": (index, length) => `${"a".repeat(length)}${index} x`,
};

const NAMES: typeof HOSTS = {
  "short names": (index) => index.toString(36),
  "long names that differ at their end": (index, length) => `${"n".repeat(length)}${index}`,
};

const PATTERNS: typeof HOSTS = {
  "short patterns": (index) => `${index.toString(36)}*`,
  "prefixes of every length": (index) => `${"p".repeat(index % 720)}${index}*`,
  "long patterns": (index, length) => `${"p".repeat(length)}${index}*`,
  "long exact patterns": (index, length) => `${"p".repeat(length)}${index}`,
};

const LISTS = {
  "network.allow": HOSTS,
  "peer_fetch.allow": HOSTS,
  "shell.allow": NAMES,
  "env.allow": NAMES,
  "spawn.allow": NAMES,
  "install.skill": PATTERNS,
  "install.tool": PATTERNS,
  "state.store": NAMES,
} as const;

type List = keyof typeof LISTS;

function ideographs(from: number, count: number): string {
  let text = "";
  for (let index = 0; index < count; index++) text += String.fromCharCode(0x4e00 + ((from + index) % 20_000));
  return text;
}

/** A random case. */
export function worstCase(random: Random): WorstCase {
  const list = pick(random, Object.keys(LISTS) as List[]);
  const kinds = Object.entries(LISTS[list]);
  const [parentKind, parentEntry] = pick(random, kinds);
  // The comparison goes through all entries only if the parent holds them, so usually it does.
  const isCovered = random() < 0.6;
  const [childKind, childEntry] = isCovered ? [parentKind, parentEntry] : pick(random, kinds);
  const length = Math.floor(LONGEST_ENTRY_BYTES ** random());
  const isFlow = random() < 0.5;
  return {
    what: `${list}, ${isFlow ? "in brackets" : "line by line"}: ${parentKind} against ${childKind}, ${length} bytes`,
    parent: manifestOf(PARENT, list, isFlow, (index) => parentEntry(index, length)),
    child: manifestOf(SUBJECT, list, isFlow, (index) => childEntry(index, length)),
  };
}

/** A manifest of the largest size, filled by one list. */
function manifestOf(
  { name, version }: Capsule,
  list: List,
  isFlow: boolean,
  entryAt: (index: number) => string,
): string {
  const [block, key] = list.split(".");
  const top = `name: ${name.split("/")[1]}\nversion: ${version}\n`;
  const spawns = list === "spawn.allow" ? "" : `  spawn: {allow: [${SUBJECT.name}]}\n`;
  const head =
    list === "state.store"
      ? `${top}capabilities:\n${spawns}artifacts:`
      : `${top}capabilities:\n${spawns}  ${block}:\n    ${key}:`;
  const lines = [lineOf(list, isFlow, list === "spawn.allow" ? SUBJECT.name : entryAt(0))];
  let room = MAX_MANIFEST_BYTES - Buffer.byteLength(head + lines[0]) - " []\n".length;
  for (let index = 1; ; index++) {
    const line = lineOf(list, isFlow, entryAt(index));
    room -= Buffer.byteLength(line);
    if (room < 0) break;
    lines.push(line);
  }
  return isFlow ? `${head} [${lines.join("")}]\n` : `${head}\n${lines.join("")}`;
}

function lineOf(list: List, isFlow: boolean, entry: string): string {
  const written = /^[a-z0-9]+$/.test(entry) && !/^[0-9]/.test(entry) ? entry : `'${entry}'`;
  const item = list === "state.store" ? `{capabilities: {state: {store: ${written}}}}` : written;
  return isFlow ? `${item},` : `      - ${item}\n`;
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}
