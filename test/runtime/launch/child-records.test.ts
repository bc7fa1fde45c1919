import { afterEach, beforeEach, expect, test } from "bun:test";
import { chownSync, mkdirSync, renameSync, rmdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findChildRecords } from "../../../src/runtime/launch/launched-child.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import type { HeldDirectory } from "../../../src/runtime/tree/held.ts";
import { newId } from "../../../src/runtime/wire.ts";
import { hold, isRoot, noMoreFilesThan, openFiles, type TestFolder, testFolder } from "../../kit/folders.ts";
import { noDescriptors, TOO_MANY } from "../../kit/no-descriptors.ts";

let folder: TestFolder;
let home: HeldDirectory;
const sessionId = newId("ses");

beforeEach(() => {
  folder = testFolder();
  home = hold(folder.path);
});
afterEach(() => {
  home.close();
  folder.remove();
});

/** Beneath the home, as a parent's runtime makes it. */
function workdir(): string {
  return folder.at(".murmur", "records", "project", "ses_parent", "children", "worker-0123456789abcdef");
}

/** Where a child that keeps the contract has its records. */
function own(): string {
  return join(folder.at(".murmur", "records"), workdir().slice(1), sessionId);
}

function find(reported: string | undefined, more: Partial<Parameters<typeof findChildRecords>[0]> = {}) {
  const given = { home, homeAsGiven: folder.path, workdir: workdir(), sessionId, secrets: [] };
  return findChildRecords({ ...given, reported, ...more });
}

function faultOf({ look }: ReturnType<typeof findChildRecords>): string {
  const found = look();
  return found.ok ? "it was held" : found.fault;
}

test("only the directory that follows from the home, the work folder and the session is held", async () => {
  mkdirSync(own(), { recursive: true });
  const before = openFiles();
  const records = find(own());
  const found = records.look();
  if (!found.ok) throw new Error(found.fault);
  expect(found.value.path).toBe(own());
  records.close();
  expect(found.value.descriptor).toBe(-1);
  expect(records.look()).toBe(found);
  await noMoreFilesThan(before);
});

test("any other directory is refused, even if it exists and ends in the session's id", () => {
  const others = [
    folder.at(".murmur", "records", sessionId),
    folder.at(".murmur", "records", "project", sessionId),
    join(folder.at(".murmur", "records"), dirname(workdir()).slice(1), sessionId),
    join(folder.at(".murmur", "records"), `${workdir().slice(1)}0`, sessionId),
    folder.at(sessionId),
  ];
  for (const path of [own(), ...others]) mkdirSync(path, { recursive: true });
  for (const reported of [
    ...others,
    `${own()}/`,
    own().replace("/records/", "//records/"),
    own().replace("/records/", "/./records/"),
    own().replace("/records/", "/x/../records/"),
    own().slice(1),
    dirname(own()),
    `${own()}\0`,
    "/",
    "/etc",
  ]) {
    const records = find(reported);
    expect(faultOf(records)).toContain(` is not its own, ${own()}`);
    expect(records.look()).not.toHaveProperty("unclear");
  }
  expect(faultOf(find(undefined))).toBe("the child reported no records directory");
  expect(faultOf(find(""))).toBe("the child reported no records directory");
});

test("a home that is a link may be named by either of its names", () => {
  mkdirSync(own(), { recursive: true });
  const link = `${folder.path}-link`;
  symlinkSync(folder.path, link);
  try {
    for (const homeAsGiven of [link, `${link}/`, `${link}/.`]) {
      for (const reported of [own(), own().replace(folder.path, link)]) {
        const records = find(reported, { homeAsGiven });
        expect(faultOf(records)).toBe("it was held");
        records.close();
      }
    }
    expect(faultOf(find(own().replace(folder.path, link)))).toContain("is not its own");
  } finally {
    unlinkSync(link);
  }
});

test("a directory that does not exist yet is found when it is looked for again", () => {
  const records = find(own());
  expect(faultOf(records)).toContain("could not be opened at ");
  expect(records.look()).not.toHaveProperty("unclear");
  mkdirSync(own(), { recursive: true });
  const found = records.look();
  expect(found.ok).toBe(true);
  // The directory is held, so a change of its name does not matter.
  rmdirSync(own());
  expect(records.look()).toBe(found);
  records.close();

  const closed = find(own());
  closed.close();
  mkdirSync(own());
  expect(closed.look().ok).toBe(false);
});

test("a directory that no descriptor is free for is unclear until there is one", () => {
  mkdirSync(own(), { recursive: true });
  const give = noDescriptors();
  const records = find(own());
  const before = records.look();
  give();
  expect(before).toEqual({ ok: false, fault: expect.stringContaining(TOO_MANY), unclear: "no-descriptor" });
  expect(faultOf(records)).toBe("it was held");
  records.close();
});

test("only a directory, and no link, is accepted at its end or on the way there", () => {
  const elsewhere = folder.at("elsewhere");
  mkdirSync(join(elsewhere, sessionId), { recursive: true });
  mkdirSync(dirname(own()), { recursive: true });
  symlinkSync(join(elsewhere, sessionId), own());
  expect(faultOf(find(own()))).toContain(`could not be opened at "${sessionId}"`);
  renameSync(own(), folder.at("the-link"));
  writeFileSync(own(), "");
  expect(faultOf(find(own()))).toContain(`could not be opened at "${sessionId}"`);
  renameSync(own(), folder.at("the-file"));
  expect(Bun.spawnSync(["mkfifo", own()]).exitCode).toBe(0);
  expect(faultOf(find(own()))).toContain(`could not be opened at "${sessionId}"`);
  renameSync(dirname(own()), folder.at("moved"));
  symlinkSync(elsewhere, dirname(own()));
  expect(faultOf(find(own()))).toContain('could not be opened at "worker-0123456789abcdef"');
});

test("a fault shows neither a token nor an invisible character", () => {
  const approval = new Secret(`msa1.${"eyJ2IjoxLCJ4".repeat(6)}.${"Q".repeat(43)}`);
  const operator = new Secret("operator-token-0123456789abcdef");
  const said = `/x/${approval.reveal()}\n\u001b[2J\u202e/${operator.reveal()}/msc1.abc.def/${"y".repeat(600)}`;
  const fault = faultOf(find(said, { secrets: [approval, operator] }));
  expect(fault).toStartWith(
    'the records directory that the child reported, "/x/<redacted>\\n\\u001b[2J\\u202e/<redacted>/<redacted>/yyy',
  );
  // A cut may fall inside a token, so tokens are removed before it.
  expect(faultOf(find(`${"y".repeat(500)}${approval.reveal()}`, { secrets: [approval] }))).not.toContain(
    "msa1",
  );
});

test.skipIf(!isRoot)("a directory of another user is refused (only root can make one)", () => {
  mkdirSync(own(), { recursive: true });
  chownSync(own(), 65_534, 65_534);
  expect(faultOf(find(own()))).toContain("belongs to another user");
});
