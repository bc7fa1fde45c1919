/** Every sentence that the daemon refuses with, made by the daemon's code from realistic values. */

import type { TObject } from "@sinclair/typebox";
import { type BodySchema, type Fields, readBody } from "../../src/api/body.ts";
import { type Refusal, type RefusalStatus, refusalMessage, refusalStatus } from "../../src/api/refusals.ts";
import { whyForeign } from "../../src/guard.ts";
import { BODY_DEADLINE_SECONDS, MAX_BODY_BYTES } from "../../src/json-body.ts";
import { excesses } from "../../src/referee/axes.ts";
import { lowerManifest } from "../../src/referee/envelope.ts";
import { parseArtifactName, parseArtifactVersion, type Sha256 } from "../../src/registry/artifact-name.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { atOnce } from "../../src/slices.ts";

export type Kind = Refusal["kind"];

/** One sentence. */
export interface Sentence {
  readonly kind: Kind;
  readonly status: RefusalStatus;
  /** The sentence with example values. */
  readonly example: string;
  /** The sentence with a name in angle brackets for each value. */
  readonly template: string;
  /** Matches the sentence with any values. */
  readonly pattern: RegExp;
}

/** A value in a sentence: its text, its name in a template, and the pattern of such values. */
type Value = readonly [text: string, shown: string, pattern: string];

const PART = "[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?";
const NAME: Value = ["local/researcher", "<scope>/<name>", `${PART}/${PART}`];
const VERSION: Value = ["1.0.0", "<version>", "[^/]{1,128}"];
const OTHER_NAME: Value = ["local/fact-checker", "<other scope>/<other name>", `${PART}/${PART}`];
const OTHER_VERSION: Value = ["1.1.0", "<other version>", "[^/]{1,128}"];
const HASH: Value = [
  "fda83b6bc0ff01bb80408ecd84d3f7ac16ef1f2e986536cabea9b49687aaa412",
  "<sha256>",
  "[0-9a-f]{64}",
];
const OTHER_HASH: Value = [
  "790bfb69daaf0a30145c6bd6b894223b67647f9882858a16c4f4a06aad37cc86",
  "<other sha256>",
  "[0-9a-f]{64}",
];
const number = (value: number): Value => [String(value), "<number>", "\\d+"];
const ANYTHING = "[\\s\\S]*";

const ASKED = { name: name(NAME[0]), version: version(VERSION[0]) };
const GRANTED = { name: name(OTHER_NAME[0]), version: version(OTHER_VERSION[0]) };

/** The sentences of every kind except those about a body. A new kind does not compile until it is added here. */
const SENTENCES: { readonly [K in Exclude<Kind, "bad-body" | "bad-outcome">]: readonly Sentence[] } = {
  "not-found": [sentence({ kind: "not-found" })],
  "session-not-found": [sentence({ kind: "session-not-found" })],
  "foreign-caller": foreignCallers(),
  "body-too-large": [sentence({ kind: "body-too-large", maxBytes: MAX_BODY_BYTES })],
  "body-too-slow": [sentence({ kind: "body-too-slow", seconds: BODY_DEADLINE_SECONDS })],
  "body-ended-early": [sentence({ kind: "body-ended-early" })],
  identity: [sentence({ kind: "identity" })],
  "not-in-parent-allow": [sentence({ kind: "not-in-parent-allow", name: NAME[0] }, NAME)],
  "not-in-spawn-allow": [sentence({ kind: "not-in-spawn-allow", name: NAME[0] }, NAME)],
  bound: [
    sentence({ kind: "bound", bound: "depth", limit: 3, held: 0 }, number(3)),
    sentence({ kind: "bound", bound: "machine-ceiling", limit: 64, held: 64 }, number(64)),
    sentence({ kind: "bound", bound: "concurrency", limit: 4, held: 4 }, number(4)),
  ],
  envelope: envelopes(),
  unresolved: [
    unresolved(
      "registry error for",
      "not found: /home/you/.murmur/artifacts/local/researcher/1.0.0/researcher-1.0.0.mur.zip: No such file or directory (os error 2)",
    ),
    unresolved("manifest extraction failed:", "it holds no murmur.yaml at its root"),
    unresolved("manifest parse error:", "capabilities.network.allow: must be a list"),
  ],
  "approval-expired": [sentence({ kind: "approval-expired" })],
  "approval-redeemed": [sentence({ kind: "approval-redeemed" })],
  "approval-other-coordinates": [
    sentence(
      { kind: "approval-other-coordinates", granted: GRANTED, asked: ASKED },
      NAME,
      VERSION,
      OTHER_NAME,
      OTHER_VERSION,
    ),
  ],
  "approval-other-bytes": [
    sentence(
      {
        kind: "approval-other-bytes",
        asked: ASKED,
        approved: HASH[0] as Sha256,
        resolved: OTHER_HASH[0] as Sha256,
      },
      NAME,
      VERSION,
      HASH,
      OTHER_HASH,
    ),
  ],
  "caller-left": [sentence({ kind: "caller-left" })],
  internal: [sentence({ kind: "internal" })],
};

/** The sentences of a kind. Sentences about a body depend on the endpoint: see {@link bodySentences}. */
export function sentencesOf(kind: Exclude<Kind, "bad-body" | "bad-outcome">): readonly Sentence[] {
  return SENTENCES[kind];
}

/** Texts for each field. The first one is valid, the others are refused. */
const TEXTS: { readonly [Name in keyof Fields]: readonly [string, ...string[]] } = {
  session_id: ["ses_1", "", "a b"],
  name: [NAME[0], "Researcher"],
  version: [VERSION[0], "1/0"],
  outcome: ["complete", "done"],
};

/** What the daemon says about bodies that an endpoint with this schema refuses. */
export async function bodySentences({ properties }: TObject): Promise<Sentence[]> {
  const schema = { properties } as BodySchema<keyof Fields>;
  const names = Object.keys(properties) as (keyof Fields)[];
  const whole = Object.fromEntries(names.map((name) => [name, TEXTS[name][0]]));
  const wrong = names.flatMap((name) => {
    const { [name]: _, ...missing } = whole;
    return [missing, ...[7, ...TEXTS[name].slice(1)].map((value) => ({ ...whole, [name]: value }))];
  });
  const bodies = [
    new Uint8Array(),
    Uint8Array.of(0xff),
    "{",
    ...[[], ...wrong].map((body) => JSON.stringify(body)),
  ];
  const value: Value = ["'done'", "'<value>'", `'${ANYTHING}'`];
  return Promise.all(
    bodies.map(async (body) => {
      const reading = await readBody(new Request("http://127.0.0.1/", { method: "POST", body }), schema);
      if (reading.ok) throw new Error(`this body is taken: ${String(body)}`);
      return sentence(reading.fault, value);
    }),
  );
}

function foreignCallers(): Sentence[] {
  const host = "127.0.0.1:7700";
  return [
    { host: "example.com" },
    { host, origin: "https://example.com" },
    { host, "sec-fetch-site": "cross-site" },
  ].map((headers) => {
    const why = whyForeign(new Headers(headers));
    if (why === undefined) throw new Error("this caller is answered");
    return sentence({ kind: "foreign-caller", why });
  });
}

function unresolved(what: string, reason: string): Sentence {
  const message = `${what} '${NAME[0]}/${VERSION[0]}': ${reason}`;
  return sentence({ kind: "unresolved", message }, [reason, "<reason>", ".+"], NAME, VERSION);
}

/** One for each axis, and two with their own wording: a missing scope and a lower floor. */
function envelopes(): Sentence[] {
  const parent = envelope("filesystem: {scope: src}\n  containment: sealed");
  const wide = envelope(`network: {allow: [tracker.example.net], unix_sockets: true}
  peer_fetch: {allow: [peer.example.net]}
  shell: {allow: [git]}
  spawn: {allow: [local/other]}
  env: {allow: [API_TOKEN]}
  filesystem: {scope: docs, workdir_exec: true}
  install: {skill: ['local/*'], tool: ['local/*']}
  containment: scoped
artifacts: [{capabilities: {state: {store: notes}}}]`);
  const unscoped = envelope("containment: sealed");
  const scope: Value = ["'src'", "'<scope>'", `'${ANYTHING}'`];
  const floor: Value = ["'sealed'", "'<floor>'", "'(?:advisory|scoped|sealed)'"];
  const found = [wide, unscoped].flatMap((child) => atOnce(excesses(parent, child)));
  return found.map((excess) => {
    const entry: Value = [`'${excess.entry}'`, "'<entry>'", `'${ANYTHING}'`];
    const values = excess.entry === "true" || excess.entry === "" ? [] : [entry];
    return sentence({ kind: "envelope", excesses: [excess] }, ...values, scope, floor);
  });
}

function envelope(capabilities: string) {
  const reading = readManifest(`name: example\nversion: 0.1.0\ncapabilities:\n  ${capabilities}\n`);
  if (!reading.ok) throw new Error(reading.fault);
  return atOnce(lowerManifest(reading.manifest));
}

function sentence(refusal: Refusal, ...values: readonly Value[]): Sentence {
  const example = refusalMessage(refusal);
  const known = new Map(values.map((value) => [value[0], value]));
  const anyValue = new RegExp(`(${[...known.keys()].map(escapeRegExp).join("|")})`);
  // `split` with a group puts the values at the odd indexes.
  const pieces = known.size === 0 ? [example] : example.split(anyValue);
  const with_ = (take: (value: Value) => string, rest: (text: string) => string) =>
    pieces.map((piece) => (known.has(piece) ? take(known.get(piece) as Value) : rest(piece))).join("");
  return {
    kind: refusal.kind,
    status: refusalStatus(refusal),
    example,
    template: with_(
      ([, shown]) => shown,
      (text) => text,
    ),
    pattern: new RegExp(`^${with_(([, , pattern]) => pattern, escapeRegExp)}$`),
  };
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function name(text: string) {
  const parsed = parseArtifactName(text);
  if (!parsed) throw new Error(`${text} is not a capsule name`);
  return parsed;
}

function version(text: string) {
  const parsed = parseArtifactVersion(text);
  if (!parsed) throw new Error(`${text} is not a version`);
  return parsed;
}
