/** docs/runtime.md, "In another language": the names that it gives are those that the code writes and reads. */

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseRunningRecord } from "../../src/census/running-records.ts";
import { childCommand } from "../../src/runtime/contract/arguments.ts";
import { childEnvironment, formatSpawnerHandle } from "../../src/runtime/contract/environment.ts";
import { formatReadiness } from "../../src/runtime/contract/readiness.ts";
import { readRecord, writeRecord } from "../../src/runtime/delegation/completion.ts";
import { deliverTask } from "../../src/runtime/delegation/hand-over.ts";
import { postToDoor } from "../../src/runtime/delegation/own-end.ts";
import { createCompletionDoor, type DoorUrl, parseDoorUrl, Secret } from "../../src/runtime/index.ts";
import { blocksOf, documents } from "../kit/documents.ts";
import { hold } from "../kit/folders.ts";
import { patientClock } from "../kit/patient-clock.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { coordinates } from "../runtime/parent.ts";

const page = documents().find(({ path }) => path === "docs/runtime.md");
const [, section = ""] = page?.text.split("\n## In another language\n") ?? [];
const blocks = blocksOf({ path: "docs/runtime.md", text: section });
const cellsOf = (line: string) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
/** The rows of each table; the first one is its heading. */
const tables = section
  .split("\n\n")
  .filter((block) => block.startsWith("|"))
  .map((block) =>
    block
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map(cellsOf),
  );
const rows = tables.flat();

/** Each text in code. */
const codesIn = (text = "") => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
/** The second cell of the row with this first one. */
function row(first: string): string {
  const [, cell] = rows.find(([name]) => name === first) ?? [];
  if (cell === undefined) throw new Error(`there is no row ${first}`);
  return cell;
}

const door = parseDoorUrl("http://127.0.0.1:41000");
if (!door) throw new Error("no door");
const handle = { sessionId: "ses_p", contextId: "ctx_1", delegationId: "dlg_1", url: door };
const formationId = `frm_${"0".repeat(32)}`;
const identity = {
  ...coordinates("local/worker"),
  delegationId: "dlg_1",
  sessionId: "ses_1",
  workdir: { path: "/work" },
};

test("the arguments", () => {
  const [, ...args] = childCommand({}, identity, "/work", { files: 1 });
  const flags = args.filter((argument) => argument.startsWith("--") || argument === "run");
  const named = codesIn(row("Arguments")).flatMap((code) => code.match(/--[a-z-]+|^run/g) ?? []);
  expect(named).toEqual(flags);
});

test("the environment", () => {
  const parent = { PATH: "/bin", HOME: "/home/me", USER: "me", LOGNAME: "me" };
  const environment = childEnvironment({
    parent,
    roostUrl: "http://127.0.0.1:7700",
    lifeline: 3,
    handle,
    formationId,
    parentAllows: [],
    childAllows: [],
  });
  expect(codesIn(row("Environment"))).toEqual(Object.keys(environment));
  expect(codesIn(row("`MURMUR_HOST_WARNINGS_REPORTED`"))).toEqual([
    String(environment.MURMUR_HOST_WARNINGS_REPORTED),
  ]);
  const keys = Object.keys(JSON.parse(formatSpawnerHandle(handle)));
  expect(codesIn(row("`MURMUR_SPAWNER`")).sort()).toEqual(keys.sort());
});

test("the first line", () => {
  const report = { sessionId: "ses_1", name: "a", version: "1", workdir: "/w", recordsDirectory: "/r" };
  const operatorToken = new Secret("operator-token");
  const { tokens, ...said } = JSON.parse(formatReadiness({ ...report, door, operatorToken, formationId }));
  const keys = [...Object.keys(said), ...Object.keys(tokens).map((key) => `tokens.${key}`)];
  const named = codesIn(row("First line of standard output")).filter((code) => !code.startsWith("<"));
  expect(named.sort()).toEqual(keys.sort());
});

/** The one request that a door on loopback was sent by `send`, which gets the answer. */
async function requestOf(answer: object, send: (door: DoorUrl) => Promise<unknown>) {
  const requests: { readonly headers: Headers; readonly body: unknown }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      requests.push({ headers: request.headers, body: await request.json() });
      return Response.json(answer);
    },
  });
  try {
    const url = parseDoorUrl(`http://127.0.0.1:${server.port}`);
    if (!url) throw new Error("no door");
    const result = await send(url);
    const [request, ...more] = requests;
    if (!request || more.length > 0) throw new Error(`there were ${requests.length} requests`);
    return { ...request, result };
  } finally {
    await server.stop(true);
  }
}

/** `name: value`, or the name alone where the page gives no value. */
const told = (header: string) => /^(?:A2A-|x-murmur-|Authorization)/.test(header);

/** Those that a program would not send by itself. */
const ownHeaders = ({ headers }: { readonly headers: Headers }) =>
  [...headers.keys()].filter((name) => /^(?:a2a-|x-murmur-|authorization)/.test(name)).sort();

function expectHeaders(named: readonly string[], request: { readonly headers: Headers }) {
  const pairs = named.filter(told).map((header) => header.split(": "));
  expect(pairs.map(([name = ""]) => name.toLowerCase()).sort()).toEqual(ownHeaders(request));
  for (const [name = "", value] of pairs) {
    if (value !== undefined && !value.includes("<")) expect(request.headers.get(name)).toBe(value);
  }
}

test("the hand-over of a task", async () => {
  const [sent, answer] = blocks
    .filter(({ language }) => language === "json")
    .map(({ text }) => JSON.parse(text.replaceAll("dlg_…", "dlg_1")));
  const delivery = {
    token: new Secret("operator-token"),
    name: identity.name,
    secrets: [],
    delegationId: "dlg_1",
    task: "the task",
    signal: new AbortController().signal,
  };
  const request = await requestOf(answer, (url) => deliverTask({ ...delivery, door: url }, patientClock));
  expect(request.body).toEqual(sent);
  expect(request.result).toEqual({ ok: true, value: "tsk_…" });
  expectHeaders(codesIn(row("The task")), request);
});

test("the headers of a completion", async () => {
  const request = await requestOf({ jsonrpc: "2.0", id: "dlg_1", result: {} }, async (url) =>
    postToDoor({ ...handle, url }, patientClock)?.(identity, {
      status: "ok",
      durationMs: 1,
      reportedBy: "child",
    }),
  );
  expect(request.result).toEqual({ delivered: true });
  expectHeaders(codesIn(row("The end")), request);
});

/** The rows below the heading that begins with this. */
function tableOf(heading: string) {
  const table = tables.find(([first]) => first?.[0] === heading);
  if (!table) throw new Error(`there is no table ${heading}`);
  return table.slice(1);
}

test("the answers of a parent's door", () => {
  const parent = createCompletionDoor("ses_p");
  const completion = { addressedSession: "ses_p", method: "SendMessage", delegationId: "dlg_1" };
  parent.await("dlg_1", () => {});
  const answers = [
    parent.receive(completion),
    parent.receive({ ...completion, addressedSession: "ses_other" }),
    parent.receive({ ...completion, method: "GetTask" }),
    parent.receive({ ...completion, delegationId: "dlg_2" }),
  ];
  const named = tableOf("Answer").map(([first]) =>
    JSON.parse(codesIn(first)[0]?.replace("dlg_…", "dlg_1") ?? ""),
  );
  expect(named).toEqual(answers.map((answer) => ("result" in answer ? answer.result : answer.error.code)));
});

test("the keys of a running record", () => {
  const record = {
    session_id: "ses_1",
    capsule_name: "local/worker",
    capsule_version: "1.0.0",
    workdir: "/work",
    started_at: "2026-12-01T00:00:00Z",
    pid: 4711,
    process_start: "123456",
    outlives_launcher: false,
  };
  const isRead = (value: object) => parseRunningRecord(Buffer.from(JSON.stringify(value))) !== undefined;
  const named = tableOf("Key of a running record").flatMap(([first]) => codesIn(first));
  expect(named).toEqual(Object.keys(record).sort((one, other) => named.indexOf(one) - named.indexOf(other)));
  expect(isRead(record)).toBe(true);
  for (const key of named) expect([key, isRead({ ...record, [key]: undefined })]).toEqual([key, false]);
});

describe("completion.json", () => {
  const table = tableOf("Key of `completion.json`");

  test("has the keys of the table, and those that are needed are", async () => {
    using scratch = scratchDirectory();
    using records = disposable(scratch.path);
    const written = await writeRecord(records.descriptor, identity, {
      status: "error",
      durationMs: 1,
      resultPath: "/work/out/result.txt",
      detail: "no luck",
      reportedBy: "child",
      delivered: false,
      deliveryError: "nobody listens",
    });
    expect(written.ok).toBe(true);
    const path = join(scratch.path, "completion.json");
    const whole = JSON.parse(readFileSync(path, "utf8"));
    const keys = Object.keys(whole);
    expect(table.flatMap(([first]) => codesIn(first)).sort()).toEqual([...keys].sort());
    const needed: string[] = [];
    for (const key of keys) {
      writeFileSync(path, JSON.stringify({ ...whole, [key]: undefined }));
      const read = await readRecord(records.descriptor, identity, 1, [], patientClock);
      if (read.ok && read.value === undefined) needed.push(key);
    }
    const named = table.filter(([, cell]) => cell === "yes").flatMap(([first]) => codesIn(first));
    expect(named.sort()).toEqual(needed.sort());
  });
});

function disposable(path: string) {
  const { descriptor, close } = hold(path);
  return { descriptor, [Symbol.dispose]: close };
}
