/** The records directory that a child names is taken for its word only where it is one of its own. */

import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { endAll, systemClock } from "../../../src/runtime/index.ts";
import { statusOf } from "../../../src/runtime/posix.ts";
import { createChildSessions } from "../../../src/runtime/session/child-sessions.ts";
import { sharedParent } from "../parent.ts";
import { processesOf } from "../world.ts";

const { world, parent } = sharedParent();

const records = () => join(world.home, ".murmur", "records");

beforeAll(() => {
  mkdirSync(join(records(), "beside"), { recursive: true });
  symlinkSync(join(records(), "beside"), join(records(), "link"));
  symlinkSync(join(records(), "beside"), join(records(), "ses_link"));
});

let sessions = 0;

/** With directories of its own id, written `ses_own`, wherever one is named that could be taken. */
function recordsOfItsOwn(named: string | undefined) {
  const sessionId = `ses_own${sessions++}`;
  for (const place of [records(), world.home, join(records(), "beside")]) mkdirSync(join(place, sessionId));
  return recordsNamed(named?.replace("~", world.home).replace("ses_own", sessionId), sessionId);
}

async function recordsNamed(named: string | undefined, sessionId: string) {
  const line = JSON.stringify({ session_id: sessionId, url: "", records_dir: named });
  const child = await parent.launched(`says:${line}`);
  await endAll([child], systemClock);
  child.release();
  return child.records;
}

test("a directory of the child's own session beneath the records is held", async () => {
  const held = await recordsOfItsOwn("~/.murmur/records/ses_own");
  expect(held).toMatchObject({ ok: true, value: { path: join(records(), `ses_own${sessions - 1}`) } });
});

test.each([
  ["reported no records", undefined],
  ["is not one beneath", "relative/ses_own"],
  ["is not one beneath", "/etc/ses_own"],
  ["is not one beneath", "~/ses_own"],
  ["is not one beneath", "~/.murmur/records/../../ses_own"],
  ["is not one beneath", "~/.murmur/records//ses_own"],
  ["is not one beneath", "~/.murmur/records/ses_own/"],
  ["is not one beneath", "~/.murmur/records"],
  ["does not end in", "~/.murmur/records/beside"],
  ['could not be opened at "link"', "~/.murmur/records/link/ses_own"],
  ['could not be opened at "nowhere"', "~/.murmur/records/nowhere/ses_own"],
])("where it %s (%s), there is no record, and the child is launched all the same", async (why, named) => {
  const held = await recordsOfItsOwn(named);
  expect(held.ok ? "held" : held.fault).toContain(why);
});

test("a link in the place of the session's own directory is not followed", async () => {
  const held = await recordsNamed(join(records(), "ses_link"), "ses_link");
  expect(held.ok ? "held" : held.fault).toContain('could not be opened at "ses_link"');
});

test("what is held stays the same directory when its name becomes another's", async () => {
  const child = await parent.launched("agent");
  if (!child.records.ok) throw new Error(child.records.fault);
  const { path, descriptor } = child.records.value;
  const before = statusOf(descriptor);
  renameSync(path, join(dirname(path), "moved"));
  mkdirSync(path);
  expect(statusOf(descriptor)).toEqual(before);
  await endAll([child], systemClock);
  child.release();
});

describe("a child that goes by a session id that is another's is no child", () => {
  async function failureOf(sessionId: string, records: string) {
    const line = JSON.stringify({ session_id: sessionId, url: "", records_dir: records });
    const outcome = await parent.launch(`says:${line}`);
    if (outcome.kind !== "failed") throw new Error(JSON.stringify(outcome));
    const { cause, message, started } = outcome.failure;
    expect(cause).toBe("taken-session-id");
    expect(processesOf(started?.workdir ?? "?")).toEqual([]);
    return message;
  }

  test("its parent's: nothing is written into the parent's records", async () => {
    const { id, directories } = parent.session;
    const before = readdirSync(directories.records.path);
    expect(await failureOf(id, directories.records.path)).toStartWith(
      `could not launch local/worker@0.1.0: its first line names the session of this capsule, ${id};`,
    );
    expect(readdirSync(directories.records.path)).toEqual(before);
  });

  test("another child's, also when that one is gone", async () => {
    const child = await parent.launched("agent");
    if (!child.records.ok) throw new Error(child.records.fault);
    const { path } = child.records.value;
    const says = `names the session of another child of this capsule, ${child.sessionId};`;
    expect(await failureOf(child.sessionId, path)).toContain(says);
    await endAll([child], systemClock);
    expect(await failureOf(child.sessionId, path)).toContain(says);
    child.release();
    expect(await failureOf(child.sessionId, path)).toContain(says);
  });

  test("its parent's own spawner's", () => {
    const ids = createChildSessions("ses_own", "ses_above");
    const claimed = ids.claim("ses_above");
    expect(claimed.ok ? "" : claimed.fault).toStartWith(
      "names the session of this capsule's spawner, ses_above;",
    );
  });
});
