/** The records directory that a child names is accepted only if it is the expected one. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createChildSessions } from "../../../src/runtime/contract/readiness.ts";
import { endAll, type LaunchedChild } from "../../../src/runtime/index.ts";
import { statusOf } from "../../../src/sys/status.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { writeChild } from "../delegation/shell-child.ts";
import { sharedParent } from "../parent.ts";
import { processesOf } from "../world.ts";

const { world, parent } = sharedParent();

let children = 0;

/** Launches a shell script that has `$own`, where its records belong, and `$session`, the id that it goes by. */
async function launched(...lines: readonly string[]): Promise<LaunchedChild> {
  const name = `child-${children++}`;
  const program = writeChild(
    world().home,
    name,
    "read -r approval",
    `session=ses_${name}; own="$HOME/.murmur/records$(pwd -P)/$session"`,
    ...lines,
  );
  return parent().launched("", { environment: { MURMUR_MUR_BINARY: program } });
}

/** Prints the first line; `records` is a text of the shell's. */
function says(records: string): string {
  return `printf '{"session_id":"%s","url":"","records_dir":"%s"}\\n' "$session" "${records}"`;
}

const STAY = "read -r nothing <&3";

async function ended(child: LaunchedChild): Promise<LaunchedChild> {
  await endAll([child], patientClock);
  return child;
}

function pathOf({ records }: LaunchedChild): string {
  return records.ok ? records.value.path : records.fault;
}

test("a child's own records directory is held from the first line on", async () => {
  const child = await launched('mkdir -p "$own"', says("$own"), STAY);
  const path = join(world().home, ".murmur", "records", child.workdir.path.slice(1), child.sessionId);
  expect(pathOf(child)).toBe(path);
  await ended(child);
  expect(pathOf(child)).toBe(path);
  child.release();
});

test("a child's own records directory that is made later is held once the child has ended", async () => {
  const before = openFiles();
  const gate = join(world().home, "gate-of-the-late");
  const child = await launched(
    says("$own"),
    `while [ ! -e '${gate}' ]; do sleep 0.01; done`,
    'mkdir -p "$own/out"; echo late > "$own/out/result.txt"',
  );
  expect(pathOf(child)).toContain("could not be opened at ");
  writeFileSync(gate, "");
  await child.exited;
  expect(pathOf(child)).toEndWith(`${child.workdir.path}/${child.sessionId}`);
  child.release();
  await noMoreFilesThan(before);
});

test("a records directory that is made after the child was released is not opened", async () => {
  const gate = join(world().home, "gate-of-the-released");
  const child = await launched(
    says("$own"),
    `while [ ! -e '${gate}' ]; do sleep 0.01; done; mkdir -p "$own"`,
  );
  child.release();
  writeFileSync(gate, "");
  await child.exited;
  expect(child.records.ok).toBe(false);
});

describe("the records of an older session of this user are neither read nor written", () => {
  const records = () => join(world().home, ".murmur", "records");
  function older(name: string): string {
    const path = join(records(), "older", name);
    mkdirSync(join(path, "out"), { recursive: true });
    writeFileSync(join(path, "out", "result.txt"), "of an older session");
    writeFileSync(join(path, "completion.json"), "{}");
    return path;
  }

  test("if a child names their directory", async () => {
    const path = older(`ses_child-${children}`);
    const child = await ended(await launched('mkdir -p "$own"', says(path), STAY));
    expect(pathOf(child)).toContain("is not its own");
    child.release();
    expect(readFileSync(join(path, "completion.json"), "utf8")).toBe("{}");
  });

  test("if a link to them is in the place of the child's own", async () => {
    const path = older(`ses_child-${children}`);
    const link = `mkdir -p "$(dirname "$own")"; ln -s '${path}' "$own"`;
    const child = await ended(await launched(link, says("$own"), STAY));
    expect(pathOf(child)).toContain("could not be opened at ");
    child.release();
  });
});

test.each([
  ["none", ""],
  ["a relative one", "records/$session"],
  ["one outside of all records", "/etc/$session"],
  ["the records of all sessions", "$HOME/.murmur/records"],
  ["one beneath, but not its own", "$HOME/.murmur/records/$session"],
  ["one by way of a step back", "$(dirname $own)/../$(basename $(pwd))/$session"],
])("a child that names %s (%s) has no record, and is launched anyway", async (_, named) => {
  const child = await ended(
    await launched('mkdir -p "$own" "$HOME/.murmur/records/$session"', says(named), STAY),
  );
  expect(pathOf(child)).toMatch(/^the (child reported no records|records directory that the child reported)/);
  child.release();
});

test("the held directory stays the same when its name is given to another", async () => {
  const child = await parent().launched("agent");
  if (!child.records.ok) throw new Error(child.records.fault);
  const { path, descriptor } = child.records.value;
  const before = statusOf(descriptor);
  renameSync(path, join(dirname(path), "moved"));
  mkdirSync(path);
  expect(statusOf(descriptor)).toEqual(before);
  await endAll([child], patientClock);
  child.release();
});

describe("a child is refused if its session id is", () => {
  async function failureOf(sessionId: string, records: string) {
    const line = JSON.stringify({ session_id: sessionId, url: "", records_dir: records });
    const outcome = await parent().launch(`says:${line}`);
    if (outcome.kind !== "failed") throw new Error(JSON.stringify(outcome));
    const { cause, message, started } = outcome.failure;
    expect(processesOf(started?.workdir ?? "")).toEqual([]);
    return { cause, message };
  }

  test("its parent's, and nothing is written into the parent's records", async () => {
    const { id, directories } = parent().session;
    const before = readdirSync(directories.records.path);
    const { cause, message } = await failureOf(id, directories.records.path);
    expect(cause).toBe("taken-session-id");
    expect(message).toStartWith(
      `could not launch local/worker@0.1.0: its first line names the session of this capsule, ${id};`,
    );
    expect(readdirSync(directories.records.path)).toEqual(before);
  });

  test("another child's, also when that child is gone", async () => {
    const child = await parent().launched("agent");
    if (!child.records.ok) throw new Error(child.records.fault);
    const { path } = child.records.value;
    const says = `names the session of another child of this capsule, ${child.sessionId};`;
    expect((await failureOf(child.sessionId, path)).message).toContain(says);
    await endAll([child], patientClock);
    const own = readFileSync(join(path, "completion.json"), "utf8");
    expect((await failureOf(child.sessionId, path)).message).toContain(says);
    child.release();
    expect((await failureOf(child.sessionId, path)).message).toContain(says);
    expect(readFileSync(join(path, "completion.json"), "utf8")).toBe(own);
  });

  test("its parent's own spawner's", () => {
    const ids = createChildSessions("ses_own", "ses_above");
    const claimed = ids.claim("ses_above");
    expect(claimed.ok ? "" : claimed.fault).toStartWith(
      "names the session of this capsule's spawner, ses_above;",
    );
  });

  test("not valid because it shows a token", async () => {
    const { cause, message } = await failureOf("msc1.eyJ2IjoxLCJzaWQi.bWFj", "");
    expect(cause).toBe("no-session-id");
    expect(message).toEndWith("its first line holds a session_id that shows a token");
  });
});
