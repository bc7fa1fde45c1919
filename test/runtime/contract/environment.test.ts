import { describe, expect, test } from "bun:test";
import {
  type ChildEnvironment,
  childEnvironment,
  commandEnvironment,
  delegationTimeoutSecs,
  formatSpawnerHandle,
  parseSpawnerHandle,
} from "../../../src/runtime/contract/environment.ts";
import { readFormationId } from "../../../src/runtime/contract/formation.ts";
import { formatReadiness, parseReadiness } from "../../../src/runtime/contract/readiness.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { addressOf, parseDoorUrl } from "../../../src/runtime/wire.ts";

const door = parseDoorUrl("http://127.0.0.1:41000");
const formation = readFormationId({ MURMUR_FORMATION_ID: `frm_${"0".repeat(32)}` });
if (!formation.ok || !formation.value || !door) throw new Error("the test's own values do not parse");
const handle = { sessionId: "ses_p", contextId: "ctx_1", delegationId: "dlg_1", url: door };

/** Everything that must not be passed on, among what may. */
const parent = {
  PATH: "/bin",
  HOME: "/home/me",
  USER: "me",
  LOGNAME: "me",
  SECRET_OF_PARENT: "1",
  SHARED: "shared",
  ONLY_PARENT_ALLOWS: "1",
  ONLY_CHILD_ALLOWS: "1",
  MURMUR_ROOST_URL: "http://127.0.0.1:1",
  MURMUR_SPAWNER: '{"session_id":"ses_grandparent"}',
  MURMUR_SPAWNER_LIFELINE: "9",
  MURMUR_SPAWNER_LATER: "1",
  MURMUR_FORMATION_ID: "frm_parents",
  MURMUR_FORMATION_CHANNEL: "7",
  MURMUR_FORMATION_PEERS: "a=http://a.formation.invalid",
  MURMUR_FORMATION_LIFELINE: "8",
  MURMUR_SESSION_ID: "ses_p",
  MURMUR_MUR_BINARY: "/opt/mur",
};
const base: ChildEnvironment = {
  parent,
  roostUrl: "http://127.0.0.1:7700",
  lifeline: 3,
  parentAllows: ["SHARED", "ONLY_PARENT_ALLOWS"],
  childAllows: ["ONLY_CHILD_ALLOWS", "SHARED"],
};

describe("a child's environment", () => {
  test("consists of the runtime's names and what both manifests allow", () => {
    expect({ ...childEnvironment(base) }).toEqual({
      SHARED: "shared",
      PATH: "/bin",
      HOME: "/home/me",
      USER: "me",
      LOGNAME: "me",
      MURMUR_ROOST_URL: "http://127.0.0.1:7700",
      MURMUR_HOST_WARNINGS_REPORTED: "1",
      MURMUR_SPAWNER_LIFELINE: "3",
    });
  });

  test("names the spawner and the formation if there are any", () => {
    const full = childEnvironment({ ...base, handle, formationId: formation.value });
    expect(full.MURMUR_FORMATION_ID).toBe(formation.value);
    expect(full.MURMUR_SPAWNER).toBe(
      '{"url":"http://127.0.0.1:41000","session_id":"ses_p","context_id":"ctx_1","delegation_id":"dlg_1"}',
    );
  });

  test("never takes one of the runtime's names from the parent, whichever manifest lists it", () => {
    const names = Object.keys(parent).filter((name) => name !== "MURMUR_MUR_BINARY");
    const listed = childEnvironment({ ...base, parentAllows: names, childAllows: names });
    expect(listed.MURMUR_ROOST_URL).toBe("http://127.0.0.1:7700");
    expect(listed.MURMUR_SPAWNER_LIFELINE).toBe("3");
    const absent = [
      "MURMUR_SPAWNER",
      "MURMUR_SPAWNER_LATER",
      "MURMUR_FORMATION_ID",
      "MURMUR_FORMATION_CHANNEL",
      "MURMUR_FORMATION_PEERS",
      "MURMUR_FORMATION_LIFELINE",
    ];
    for (const name of absent) expect(Object.hasOwn(listed, name)).toBe(false);
  });

  test("is built as quickly if both manifests allow very many names", () => {
    // Looked up in a list one by one, this takes minutes: more than the suite gives a test.
    const names = Array.from({ length: 200_000 }, (_, index) => `N${index}`);
    const last = names.at(-1) ?? "";
    const environment = childEnvironment({
      ...base,
      parent: { ...parent, [last]: "1" },
      parentAllows: names,
      childAllows: names,
    });
    expect(environment[last]).toBe("1");
  });

  test("holds a text that this process was not started with as it is", () => {
    const strange = { ...parent, SHARED: "caf\ufffd", PATH: "/\ufffd" };
    expect(childEnvironment({ ...base, parent: strange })).toMatchObject({
      SHARED: "caf\ufffd",
      PATH: "/\ufffd",
    });
  });

  test("leaves out what the parent's environment does not contain", () => {
    const names = ["MISSING", "toString", "__proto__"];
    const listed = childEnvironment({
      ...base,
      parent: { PATH: "/bin", HOME: "/home/me" },
      parentAllows: names,
      childAllows: names,
    });
    expect(Object.keys(listed)).toEqual([
      "PATH",
      "HOME",
      "MURMUR_ROOST_URL",
      "MURMUR_HOST_WARNINGS_REPORTED",
      "MURMUR_SPAWNER_LIFELINE",
    ]);
  });
});

test("a runtime's commands see its session, but nothing that is between it and its spawner", () => {
  const handed = commandEnvironment(parent, { sessionId: "ses_own", runtimeDirectory: "/r" });
  expect(handed.MURMUR_SESSION_ID).toBe("ses_own");
  expect(handed.MURMUR_RUNTIME_DIR).toBe("/r");
  expect(handed.SHARED).toBe("shared");
  const between = Object.keys(handed).filter((name) => /^MURMUR_(SPAWNER|FORMATION)/.test(name));
  expect(between).toEqual(["MURMUR_FORMATION_ID"]);
});

describe("MURMUR_SPAWNER", () => {
  test("is read as it was written, with and without a door", () => {
    for (const written of [handle, { sessionId: "s", contextId: "c", delegationId: "d" }]) {
      expect(parseSpawnerHandle(formatSpawnerHandle(written))).toEqual({ ok: true, value: written });
    }
  });

  test("holds any text as its context, which is in no header", () => {
    for (const contextId of ["a b\nc", "é😀", "c".repeat(10_000)]) {
      const value = { sessionId: "s", contextId, delegationId: "d" };
      expect(parseSpawnerHandle(formatSpawnerHandle(value))).toEqual({ ok: true, value });
    }
  });

  test.each([undefined, "", " \n"])("set to %p means that nobody delegated the capsule", (value) => {
    expect(parseSpawnerHandle(value)).toEqual({ ok: true, value: undefined });
  });

  const fields = { session_id: "sekrit", context_id: "c", delegation_id: "d", url: "http://127.0.0.1:1" };
  test.each([
    "sekrit",
    '["sekrit"]',
    "null",
    '{"session_id":"sekrit"',
    ...Object.entries({
      session_id: [undefined, "", 7, "a\nb"],
      context_id: [undefined, "", 7, null, {}],
      delegation_id: [undefined, "", "a b"],
      url: ["", null, "127.0.0.1:1", "http://example.com:80", "http://localhost:1", "http://a@127.0.0.1:1"],
    }).flatMap(([key, values]) => values.map((value) => JSON.stringify({ ...fields, [key]: value }))),
  ])("with %s refuses the launch and is not quoted", (value) => {
    const read = parseSpawnerHandle(value);
    if (read.ok) throw new Error("it was read");
    expect(read.fault.code).toBe("E-RUN-020");
    expect(read.fault.message).toContain("MURMUR_SPAWNER");
    expect(read.fault.message).not.toContain("sekrit");
  });
});

test.each([
  ["http://127.0.0.1:1", "127.0.0.1:1"],
  ["http://127.9.8.7:65535", "127.9.8.7:65535"],
  ["http://[::1]:80/", "[::1]:80"],
  ["http://127.0.0.1:80", "127.0.0.1:80"],
])("%s is accepted as a door and read with its port", (text, address) => {
  const parsed = parseDoorUrl(text);
  if (!parsed) throw new Error("it is none");
  expect(addressOf(parsed)).toBe(address);
  const report = { sessionId: "ses_1", name: "a", version: "1", workdir: "/w", recordsDirectory: "/r" };
  const line = formatReadiness({ ...report, door: parsed });
  expect(JSON.parse(line).url).toBe(address);
  const read = parseReadiness(line, new Secret("msa1.a.b"));
  expect(read).toMatchObject({ ok: true, value: { door: parsed } });
  expect(parseSpawnerHandle(formatSpawnerHandle({ ...handle, url: parsed }))).toMatchObject({
    value: { url: parsed },
  });
});

test.each([
  "http://127.0.0.1.example.com:1",
  "http://127.0.0.1:1@example.com",
  "http://0.0.0.0:1",
  "http://169.254.169.254:80",
  "http://127.0.0.1",
  "http://127.0.0.1:",
  "http://127.0.0.1:0",
  "http://127.0.0.1:00",
  "http://127.0.0.1:65536",
  "http://[::1]",
  "http://[::1]:0/",
  "http://[::ffff:127.0.0.1]:1",
  "https://127.0.0.1:1",
  "http://127.0.0.1:1/admin",
  "http://127.0.0.1:1/?x",
  "http://127.0.0.1:1#x",
])("%s is refused as a door", (text) => {
  expect(parseDoorUrl(text)).toBeUndefined();
});

test("a spawner is refused if its session_id shows a token", () => {
  const approval = new Secret(`msa1.${"eyJ2IjoxLCJ4".repeat(6)}.${"Q".repeat(43)}`);
  const operator = "operator-token-0123456789abcdef";
  const said = (session_id: string, more: object = {}) =>
    parseReadiness(JSON.stringify({ session_id, url: "", ...more }), approval);
  const tokens = { tokens: { operator } };
  for (const shown of [
    said("msc1.eyJ2.bWFj"),
    said(approval.reveal().slice(0, 60)),
    said(`x${approval.reveal().slice(20, 40)}`),
    said(operator, tokens),
    said(`ses_${operator.slice(3, 25)}`, tokens),
  ]) {
    expect(shown).toMatchObject({ ok: false, fault: { kind: "no-session-id" } });
  }
  expect(said("ses_1", { tokens: { operator: "s" } }).ok).toBe(true);
});

test("a formation id is frm_ and 32 lowercase hex digits", () => {
  expect(readFormationId({})).toEqual({ ok: true, value: undefined });
  expect(readFormationId({ MURMUR_FORMATION_ID: " " })).toEqual({ ok: true, value: undefined });
  for (const bad of ["frm_", `frm_${"A".repeat(32)}`, `frm_${"0".repeat(33)}`, "x"]) {
    const read = readFormationId({ MURMUR_FORMATION_ID: bad });
    expect(read.ok ? undefined : read.fault.code).toBe("E-RUN-044");
  }
});

test("MURMUR_DELEGATION_TIMEOUT_SECS takes precedence if it is a positive whole number", () => {
  expect(delegationTimeoutSecs({})).toBe(600);
  expect(delegationTimeoutSecs({}, 30)).toBe(30);
  expect(delegationTimeoutSecs({ MURMUR_DELEGATION_TIMEOUT_SECS: "5" }, 30)).toBe(5);
  for (const ignored of ["0", "-1", "1.5", "1e3", "soon", ""]) {
    expect(delegationTimeoutSecs({ MURMUR_DELEGATION_TIMEOUT_SECS: ignored }, 30)).toBe(30);
  }
});
