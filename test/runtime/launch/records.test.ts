/** The records directory that a child names is taken for its word only where it is one of its own. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { endAll, systemClock } from "../../../src/runtime/index.ts";
import { statusOf } from "../../../src/runtime/posix.ts";
import { openParent, type TestParent } from "../parent.ts";
import { childBinary, createWorld, ROOMY, type World } from "../world.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(60_000);

let world: World;
let parent: TestParent;

beforeAll(async () => {
  world = await createWorld(ROOMY);
  parent = await openParent(world, await childBinary());
  const records = join(world.home, ".murmur", "records");
  mkdirSync(join(records, "ses_own"), { recursive: true });
  mkdirSync(join(world.home, "ses_own"));
  mkdirSync(join(records, "beside", "ses_own"), { recursive: true });
  symlinkSync(join(records, "beside"), join(records, "link"));
  symlinkSync(join(records, "beside", "ses_own"), join(records, "ses_link"));
});
afterAll(() => world.stop());

async function recordsNamed(named: string | undefined, sessionId = "ses_own") {
  const line = JSON.stringify({ session_id: sessionId, url: "", records_dir: named });
  const child = await parent.launched(`says:${line}`);
  await endAll([child], systemClock);
  child.release();
  return child.records;
}

test("a directory of the child's own session beneath the records is held", async () => {
  const named = join(world.home, ".murmur", "records", "ses_own");
  const held = await recordsNamed(named);
  expect(held).toMatchObject({ ok: true, value: { path: named } });
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
  const held = await recordsNamed(named?.replace("~", world.home));
  expect(held.ok ? "held" : held.fault).toContain(why);
});

test("a link in the place of the session's own directory is not followed", async () => {
  const held = await recordsNamed(join(world.home, ".murmur", "records", "ses_link"), "ses_link");
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
