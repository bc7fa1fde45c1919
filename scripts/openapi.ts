/**
 * Writes `openapi.json`: the daemon's API for authors in other languages, made from the very schemas and sentences that
 * the daemon answers with. `bun scripts/openapi.ts`; with `--check` it only says whether the file is stale.
 */

import { join } from "node:path";
import type { TObject, TSchema } from "@sinclair/typebox";
import packageFile from "../package.json" with { type: "json" };
import { BODY_DEADLINE_SECONDS, MAX_BODY_BYTES } from "../src/api/body-bytes.ts";
import { type Refusal, refusalMessage, refusalStatus } from "../src/api/refusals.ts";
import {
  DeregisterAnswer,
  DeregisterBody,
  DeregisterHeaders,
  HealthAnswer,
  Refused,
  RegisterAnswer,
  RegisterBody,
  RegisterHeaders,
  SpawnAnswer,
  SpawnBody,
  SpawnHeaders,
  StatusAnswer,
  StatusPath,
} from "../src/api/schemas.ts";
import { excesses } from "../src/referee/axes.ts";
import { lowerManifest } from "../src/referee/envelope.ts";
import { parseArtifactName, parseArtifactVersion, type Sha256 } from "../src/registry/artifact-name.ts";
import { readManifest } from "../src/registry/manifest.ts";
import { atOnce } from "../src/slices.ts";

export const OPENAPI_PATH = join(import.meta.dir, "..", "openapi.json");

type Kind = Refusal["kind"];

interface Endpoint {
  readonly method: "get" | "post";
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly headers?: TObject;
  readonly pathParameters?: TObject;
  readonly body?: TObject;
  readonly answer: TSchema;
  readonly answerDescription: string;
  /** What it can refuse with, in the order it is asked. */
  readonly refusals: readonly Kind[];
}

/** What any request can hear before its route is looked at, and what any request with a body can. */
const ALWAYS: readonly Kind[] = ["foreign-caller", "internal"];
const WITH_BODY: readonly Kind[] = ["body-too-large", "body-too-slow", "body-ended-early", "bad-body"];

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: "get",
    path: "/health",
    operation: "health",
    summary: "Is the daemon listening?",
    description: "Answers once the daemon is listening.",
    answer: HealthAnswer,
    answerDescription: "The daemon is listening",
    refusals: ALWAYS,
  },
  {
    method: "post",
    path: "/spawn",
    operation: "spawn",
    summary: "Ask permission to spawn a capsule",
    description:
      "Judges the session that the credential names: its allow list, then depth, machine ceiling and concurrency, then the envelope of the artifact that the registry resolves. A grant holds a slot until the approval is redeemed or expires.",
    headers: SpawnHeaders,
    body: SpawnBody,
    answer: SpawnAnswer,
    answerDescription: "Granted: the approval, and the artifact it was granted for",
    refusals: [...ALWAYS, ...WITH_BODY, "identity", "not-in-parent-allow", "bound", "unresolved", "envelope"],
  },
  {
    method: "post",
    path: "/register",
    operation: "register",
    summary: "Announce a session and take its credential",
    description:
      "With an approval, the session becomes a child of the one that earned it; the approval is spent. Without one, the name must be in the daemon's --spawn-allow.",
    headers: RegisterHeaders,
    body: RegisterBody,
    answer: RegisterAnswer,
    answerDescription: "The session is running",
    refusals: [
      ...ALWAYS,
      ...WITH_BODY,
      "not-in-spawn-allow",
      "unresolved",
      "identity",
      "approval-expired",
      "approval-redeemed",
      "approval-other-coordinates",
      "approval-other-bytes",
    ],
  },
  {
    method: "post",
    path: "/deregister",
    operation: "deregister",
    summary: "Report that a session has ended",
    description: "The credential authorises nothing afterwards.",
    headers: DeregisterHeaders,
    body: DeregisterBody,
    answer: DeregisterAnswer,
    answerDescription: "The session is retired",
    refusals: [...ALWAYS, ...WITH_BODY, "bad-outcome", "identity"],
  },
  {
    method: "get",
    path: "/status/{session_id}",
    operation: "status",
    summary: "Poll a registered session",
    description: "Records are held in memory: after a restart of the daemon no earlier session is found.",
    pathParameters: StatusPath,
    answer: StatusAnswer,
    answerDescription: "The session as the daemon has it at this moment",
    refusals: [...ALWAYS, "not-found", "session-not-found"],
  },
];

/** Values that stand for any other of their kind, each with the pattern that takes its place in a message's shape. */
const ASKED = { name: name("local/worker-a"), version: version("0.1.0") };
const OTHER = { name: name("local/worker-b"), version: version("0.2.0") };
const APPROVED = "a".repeat(64) as Sha256;
const RESOLVED = "b".repeat(64) as Sha256;
const LIMIT = 77;
const HELD = 88;
const ENTRY = "example-entry";
const SCOPE = "example-scope";
const REASON = "not found: /home/you/.murmur/artifacts/local/worker-a/0.1.0/worker-a-0.1.0.mur.zip";
const PART = "[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?";
const PLACEHOLDERS: readonly (readonly [string, string])[] = [
  [REASON, ".+"],
  [ASKED.name, `${PART}/${PART}`],
  [OTHER.name, `${PART}/${PART}`],
  [ASKED.version, "[^/]{1,128}"],
  [OTHER.version, "[^/]{1,128}"],
  [APPROVED, "[0-9a-f]{64}"],
  [RESOLVED, "[0-9a-f]{64}"],
  [ENTRY, "[\\s\\S]*"],
  [SCOPE, "[\\s\\S]*"],
  ["'scoped'", "'(?:advisory|scoped|sealed)'"],
  ["'sealed'", "'(?:advisory|scoped|sealed)'"],
  [String(LIMIT), "\\d+"],
  [String(HELD), "\\d+"],
];

/** Every sentence of every kind of refusal, for the sample values; a new kind does not compile until it is here. */
const SAMPLES: { readonly [K in Kind]: readonly Extract<Refusal, { kind: K }>[] } = {
  "not-found": [{ kind: "not-found" }],
  "session-not-found": [{ kind: "session-not-found" }],
  "foreign-caller": [{ kind: "foreign-caller", why: REASON }],
  "body-too-large": [{ kind: "body-too-large", maxBytes: MAX_BODY_BYTES }],
  "body-too-slow": [{ kind: "body-too-slow", seconds: BODY_DEADLINE_SECONDS }],
  "body-ended-early": [{ kind: "body-ended-early" }],
  "bad-body": [{ kind: "bad-body", what: REASON }],
  "bad-outcome": [{ kind: "bad-outcome", outcome: ENTRY }],
  "caller-left": [{ kind: "caller-left" }],
  identity: [{ kind: "identity" }],
  "not-in-parent-allow": [{ kind: "not-in-parent-allow", name: ASKED.name }],
  "not-in-spawn-allow": [{ kind: "not-in-spawn-allow", name: ASKED.name }],
  bound: [
    { kind: "bound", bound: "depth", limit: LIMIT, held: HELD },
    { kind: "bound", bound: "machine-ceiling", limit: LIMIT, held: HELD },
    { kind: "bound", bound: "concurrency", limit: LIMIT, held: HELD },
  ],
  envelope: envelopeSamples(),
  unresolved: [
    { kind: "unresolved", message: `registry error for '${ASKED.name}/${ASKED.version}': ${REASON}` },
    {
      kind: "unresolved",
      message: `manifest extraction failed: '${ASKED.name}/${ASKED.version}': ${REASON}`,
    },
    { kind: "unresolved", message: `manifest parse error: '${ASKED.name}/${ASKED.version}': ${REASON}` },
  ],
  "approval-expired": [{ kind: "approval-expired" }],
  "approval-redeemed": [{ kind: "approval-redeemed" }],
  "approval-other-coordinates": [{ kind: "approval-other-coordinates", granted: ASKED, asked: OTHER }],
  "approval-other-bytes": [
    { kind: "approval-other-bytes", asked: ASKED, approved: APPROVED, resolved: RESOLVED },
  ],
  internal: [{ kind: "internal" }],
};

/** One refusal for each axis, and the two that are worded differently where a scope is missing or a floor falls. */
function envelopeSamples(): Extract<Refusal, { kind: "envelope" }>[] {
  const parent = envelope(`filesystem: {scope: ${SCOPE}}\n  containment: sealed`);
  const everything = envelope(`network: {allow: [${ENTRY}], unix_sockets: true}
  peer_fetch: {allow: [${ENTRY}]}
  shell: {allow: [${ENTRY}]}
  spawn: {allow: [${ENTRY}]}
  env: {allow: [${ENTRY}]}
  filesystem: {scope: ${ENTRY}, workdir_exec: true}
  install: {skill: [${ENTRY}], tool: [${ENTRY}]}
  containment: scoped
artifacts: [{capabilities: {state: {store: ${ENTRY}}}}]`);
  const unscoped = envelope("containment: sealed");
  return [everything, unscoped]
    .flatMap((child) => atOnce(excesses(parent, child)))
    .map((excess) => ({
      kind: "envelope",
      excesses: [excess],
    }));
}

function envelope(capabilities: string) {
  const reading = readManifest(`name: example\nversion: 0.1.0\ncapabilities:\n  ${capabilities}\n`);
  if (!reading.ok) throw new Error(reading.fault);
  return atOnce(lowerManifest(reading.manifest));
}

/** The whole document. */
export function openApiDocument(): object {
  const paths: Record<string, object> = {};
  for (const endpoint of ENDPOINTS) paths[endpoint.path] = { [endpoint.method]: operation(endpoint) };
  return {
    openapi: "3.1.0",
    info: {
      title: "mur-roost",
      version: packageFile.version,
      description:
        'Decides which capsules may start which other capsules. Every refusal is `{"error": <one sentence>}`; any other path or method is 404 with `not found`.',
      license: { name: "Apache 2.0", identifier: packageFile.license },
    },
    servers: [{ url: "http://127.0.0.1:{port}", variables: { port: { default: "7700" } } }],
    paths,
  };
}

function operation(endpoint: Endpoint): object {
  const parameters = [
    ...parametersOf(endpoint.pathParameters, "path"),
    ...parametersOf(endpoint.headers, "header"),
  ];
  return {
    operationId: endpoint.operation,
    summary: endpoint.summary,
    description: endpoint.description,
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.body && { requestBody: { required: true, content: json(endpoint.body) } }),
    responses: {
      200: { description: endpoint.answerDescription, content: json(endpoint.answer) },
      ...refusalResponses(endpoint.refusals),
    },
  };
}

function parametersOf(schema: TObject | undefined, where: "path" | "header"): object[] {
  return Object.entries(schema?.properties ?? {}).map(([parameter, { description, ...shape }]) => ({
    name: parameter,
    in: where,
    required: schema?.required?.includes(parameter) ?? false,
    ...(description && { description }),
    schema: shape,
  }));
}

function json(schema: object): object {
  return { "application/json": { schema } };
}

/** One response for each status, its `error` one of the sentences that are said with that status. */
function refusalResponses(kinds: readonly Kind[]): Record<string, object> {
  const byStatus = new Map<number, Refusal[]>();
  for (const refusal of kinds.flatMap((kind): readonly Refusal[] => SAMPLES[kind])) {
    const status = refusalStatus(refusal);
    byStatus.set(status, [...(byStatus.get(status) ?? []), refusal]);
  }
  const responses: Record<string, object> = {};
  for (const [status, refusals] of byStatus) {
    const anyOf = refusals.map((refusal) => messageShape(refusalMessage(refusal)));
    responses[status] = {
      description: [...new Set(refusals.map(({ kind }) => kind))].join(", "),
      content: json({ ...Refused, properties: { error: { ...Refused.properties.error, anyOf } } }),
    };
  }
  return responses;
}

/** The sentence itself, or its pattern and the sample it was made from where it holds a value. */
function messageShape(message: string): object {
  const values = new RegExp(PLACEHOLDERS.map(([value]) => escapeRegExp(value)).join("|"), "g");
  if (!values.test(message)) return { const: message };
  const patterns = new Map(PLACEHOLDERS);
  values.lastIndex = 0;
  let pattern = "";
  let end = 0;
  for (const found of message.matchAll(values)) {
    pattern += escapeRegExp(message.slice(end, found.index)) + (patterns.get(found[0]) ?? "");
    end = found.index + found[0].length;
  }
  return { pattern: `^${pattern}${escapeRegExp(message.slice(end))}$`, examples: [message] };
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function name(text: string) {
  const parsed = parseArtifactName(text);
  if (!parsed) throw new Error(`${text} is no capsule name`);
  return parsed;
}

function version(text: string) {
  const parsed = parseArtifactVersion(text);
  if (!parsed) throw new Error(`${text} is no version`);
  return parsed;
}

/** The file's text: stable, so that a change of the API is a readable difference. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), undefined, 2)}\n`;
}

if (import.meta.main) {
  const file = Bun.file(OPENAPI_PATH);
  if (!process.argv.includes("--check")) {
    await Bun.write(file, openApiText());
  } else if (!(await file.exists()) || (await file.text()) !== openApiText()) {
    process.stderr.write("openapi.json is stale: run npm run openapi\n");
    process.exitCode = 1;
  }
}
