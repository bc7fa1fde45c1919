import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { newId } from "../../../src/runtime/identifiers.ts";
import { holdChildRecords } from "../../../src/runtime/launch/child-records.ts";
import type { HeldDirectory } from "../../../src/runtime/tree/held.ts";
import { hold, isRoot, openFiles, type TestFolder, testFolder } from "../../kit/folders.ts";

let folder: TestFolder;
let held: HeldDirectory;

beforeEach(() => {
  folder = testFolder();
  held = hold(folder.path);
});
afterEach(() => {
  held.close();
  folder.remove();
});

test("a records directory is held where it lies beneath ~/.murmur/records and ends in the child's session", () => {
  const sessionId = newId("ses");
  const path = folder.at(".murmur", "records", "home", "me", sessionId);
  mkdirSync(path, { recursive: true });
  const before = openFiles();
  const records = holdChildRecords(held, path, sessionId);
  if (!records.ok) throw new Error(records.fault);
  expect(records.value.path).toBe(path);
  records.value.close();

  const faultOf = (reported: string | undefined, id = sessionId) => {
    const refused = holdChildRecords(held, reported, id);
    return refused.ok ? "it was held" : refused.fault;
  };
  expect(faultOf(undefined)).toContain("reported no records directory");
  expect(faultOf("")).toContain("reported no records directory");
  expect(faultOf(path, newId("ses"))).toContain("does not end in the child's session id");
  for (const outside of [
    folder.at(sessionId),
    `/etc/${sessionId}`,
    `.murmur/records/${sessionId}`,
    folder.at(".murmur", "records"),
    `${folder.path}/.murmur/records/../records/${sessionId}`,
    `${folder.path}/.murmur/records//home/me/${sessionId}`,
    `${folder.path}/.murmur/records-of-another/${sessionId}`,
  ]) {
    expect(faultOf(outside)).toContain("is not one beneath");
  }
  expect(faultOf(folder.at(".murmur", "records", "nowhere", sessionId))).toContain(
    'could not be opened at "nowhere"',
  );
  expect(faultOf(`${folder.path}/.murmur/records/a\u0000b/${sessionId}`)).toContain("could not be opened");

  renameSync(folder.at(".murmur", "records", "home"), folder.at("moved"));
  symlinkSync(folder.at("moved"), folder.at(".murmur", "records", "home"));
  expect(faultOf(path)).toContain('could not be opened at "home"');
  expect(openFiles()).toBeLessThanOrEqual(before);
});

test.skipIf(!isRoot)("a records directory of another user is refused (only root can make one)", () => {
  const sessionId = newId("ses");
  const path = folder.at(".murmur", "records", sessionId);
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o700);
  chownSync(path, 65_534, 65_534);
  const refused = holdChildRecords(held, path, sessionId);
  expect(refused.ok ? "it was held" : refused.fault).toContain("belongs to another user");
});
