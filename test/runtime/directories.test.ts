import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { Result } from "../../src/result.ts";
import { createSessionDirectories, type SessionDirectories } from "../../src/runtime/directories.ts";
import { newId } from "../../src/runtime/wire.ts";
import { modeOf, noMoreFilesThan, openFiles, type TestFolder, testFolder } from "../kit/folders.ts";
import { noDescriptors, TOO_MANY } from "../kit/no-descriptors.ts";

let folder: TestFolder;
let home: string;
let workdir: string;
let sessionId: string;

beforeEach(() => {
  folder = testFolder();
  home = folder.at("home");
  workdir = folder.at("home", "project");
  mkdirSync(workdir, { recursive: true });
  sessionId = newId("ses");
});
afterEach(() => folder.remove());

function create(options: { home?: string; workdir?: string } = {}): Result<SessionDirectories, string> {
  return createSessionDirectories({ home, workdir, sessionId, ...options });
}

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(String(result.fault));
  return result.value;
}

/** The fault, after which no directory may be held. */
function faultOf(result: Result<unknown, string>): string {
  if (result.ok) throw new Error("this was to be refused");
  return result.fault;
}

test("a session's records and runtime directories are made, each component for its owner only", () => {
  const old = process.umask(0);
  try {
    const made = must(create());
    expect(made.workdir.path).toBe(workdir);
    expect(made.records.path).toBe(`${home}/.murmur/records${workdir}/${sessionId}`);
    expect(made.runtime.path).toBe(`${home}/.murmur/sessions/${sessionId}/runtime`);
    for (const path of [made.records.path, made.runtime.path]) {
      for (let at = path; at !== home; at = at.slice(0, at.lastIndexOf("/"))) expect(modeOf(at)).toBe(0o700);
    }
    made.close();
  } finally {
    process.umask(old);
  }
});

test("directories that others could enter are closed to them, but not ~/.murmur", () => {
  mkdirSync(`${home}/.murmur/records/`, { recursive: true });
  chmodSync(`${home}/.murmur`, 0o755);
  chmodSync(`${home}/.murmur/records`, 0o777);
  must(create()).close();
  expect(modeOf(`${home}/.murmur`)).toBe(0o755);
  expect(modeOf(`${home}/.murmur/records`)).toBe(0o700);
});

test("HOME and the work folder may be links: they are resolved first", () => {
  symlinkSync(home, folder.at("home-link"));
  symlinkSync(workdir, folder.at("work-link"));
  const made = must(create({ home: folder.at("home-link"), workdir: folder.at("work-link") }));
  expect(made.workdir.path).toBe(workdir);
  expect(made.records.path).toBe(`${home}/.murmur/records${workdir}/${sessionId}`);
  made.close();
});

test("HOME and the work folder are the folders that the kernel finds, if a link stands before a ..", () => {
  mkdirSync(folder.at("home", "deep"));
  symlinkSync(folder.at("home", "deep"), folder.at("link"));
  // By text these would be taken for the right ones.
  mkdirSync(folder.at("project"));
  const made = must(create({ home: `${folder.at("link")}/..`, workdir: `${folder.at("link")}/../project` }));
  expect(made.home.path).toBe(home);
  expect(made.workdir.path).toBe(workdir);
  made.close();
});

test("the work folder keeps the name that it was given, also if the current directory changes later", () => {
  symlinkSync(workdir, folder.at("work-link"));
  const current = process.cwd();
  process.chdir(folder.path);
  try {
    const made = must(create({ workdir: "work-link" }));
    process.chdir(home);
    expect(made.givenWorkdir).toBe(folder.at("work-link"));
    made.close();
  } finally {
    process.chdir(current);
  }
});

test("below HOME a link is refused at every component, and nothing is made behind it", async () => {
  const elsewhere = folder.at("elsewhere");
  mkdirSync(elsewhere);
  const records = `.murmur/records${workdir}`;
  const steps = records.split("/").map((_, index, all) => all.slice(0, index + 1).join("/"));
  for (const planted of [...steps, ".murmur/sessions"]) {
    const at = `${home}/${planted}`;
    mkdirSync(at.slice(0, at.lastIndexOf("/")), { recursive: true });
    symlinkSync(elsewhere, at);
    const before = openFiles();
    expect(faultOf(create())).toContain(`${at} is a symbolic link or a file`);
    await noMoreFilesThan(before);
    expect(readdirSync(elsewhere)).toEqual([]);
    renameSync(`${home}/.murmur`, folder.at(`murmur-${planted.length}`));
  }
});

test("a file in the way, a session that already exists, and an invalid home are refused", async () => {
  mkdirSync(`${home}/.murmur`);
  writeFileSync(`${home}/.murmur/records`, "");
  expect(faultOf(create())).toContain(`${home}/.murmur/records is a symbolic link or a file`);
  renameSync(`${home}/.murmur/records`, `${home}/.murmur/old`);
  must(create()).close();
  const before = openFiles();
  expect(faultOf(create())).toContain(`${sessionId} could not be made: `);
  expect(faultOf(createSessionDirectories({ home: undefined, workdir, sessionId }))).toContain(
    "HOME is not set",
  );
  expect(faultOf(create({ home: "relative" }))).toContain("HOME is not an absolute path");
  expect(faultOf(create({ home: folder.at("absent") }))).toContain("HOME, ");
  expect(faultOf(create({ workdir: folder.at("absent") }))).toContain("the work folder, ");
  // A caller in JavaScript may give what is no string.
  expect(() => create({ workdir: 1 as never })).toThrow();
  await noMoreFilesThan(before);
});

test("each child has a work folder of its own", () => {
  const made = must(create());
  const [one, other] = [must(made.createChild("worker")), must(made.createChild("worker"))];
  for (const child of [one, other]) {
    expect(child.path.startsWith(`${made.records.path}/children/worker-`)).toBe(true);
    expect(child.path).toMatch(/worker-[0-9a-f]{16}$/);
    expect(modeOf(child.path)).toBe(0o700);
    expect(readdirSync(child.path)).toEqual([]);
  }
  expect(one.path).not.toBe(other.path);
  expect(modeOf(`${made.records.path}/children`)).toBe(0o700);
  for (const directory of [one, other, made]) directory.close();
});

test("a child's folder is not made behind a link or in the place of an existing one", () => {
  const elsewhere = folder.at("elsewhere");
  mkdirSync(elsewhere);
  const made = must(
    createSessionDirectories({ home, workdir, sessionId, randomBytes: (n) => new Uint8Array(n) }),
  );
  must(made.createChild("worker")).close();
  expect(faultOf(made.createChild("worker"))).toContain("worker-0000000000000000 could not be made: ");
  expect(faultOf(made.createChild("../worker"))).toContain("could not be made");
  renameSync(`${made.records.path}/children`, `${made.records.path}/moved`);
  symlinkSync(elsewhere, `${made.records.path}/children`);
  expect(faultOf(made.createChild("worker"))).toContain("children is a symbolic link");
  expect(readdirSync(elsewhere)).toEqual([]);
  made.close();
});

test("a child's folder is removed whatever the modes inside, and no link is followed", async () => {
  const precious = folder.at("precious");
  mkdirSync(precious);
  writeFileSync(`${precious}/file`, "kept");
  const made = must(create());
  const child = must(made.createChild("worker"));
  mkdirSync(`${child.path}/read-only/inner`, { recursive: true });
  writeFileSync(`${child.path}/read-only/inner/file`, "x");
  symlinkSync(precious, `${child.path}/read-only/link`);
  symlinkSync(`${precious}/file`, `${child.path}/file-link`);
  Bun.spawnSync(["mkfifo", `${child.path}/fifo`]);
  for (const mode of [0o555, 0]) {
    mkdirSync(`${child.path}/mode-${mode}/full`, { recursive: true });
    chmodSync(`${child.path}/mode-${mode}/full`, mode);
    chmodSync(`${child.path}/mode-${mode}`, mode);
  }
  chmodSync(`${child.path}/read-only/inner`, 0o555);
  chmodSync(`${child.path}/read-only`, 0o555);
  chmodSync(child.path, 0o555);
  const before = openFiles();
  expect(await child.remove()).toEqual({ ok: true, value: undefined });
  expect(readdirSync(`${made.records.path}/children`)).toEqual([]);
  expect(readFileSync(`${precious}/file`, "utf8")).toBe("kept");
  // The folder's own descriptor is closed.
  await noMoreFilesThan(before - 1);
  expect(await child.remove()).toEqual({ ok: true, value: undefined });
  made.close();
});

test("a folder that was replaced by a link is not emptied through it", async () => {
  const precious = folder.at("precious");
  mkdirSync(precious);
  writeFileSync(`${precious}/file`, "kept");
  const made = must(create());
  const child = must(made.createChild("worker"));
  renameSync(child.path, `${child.path}-moved`);
  symlinkSync(precious, child.path);
  expect((await child.remove()).ok).toBe(true);
  expect(existsSync(child.path)).toBe(false);
  expect(readdirSync(precious)).toEqual(["file"]);
  made.close();
});

test("the runtime directory is removed at the end, the records stay, and nothing is left open", async () => {
  const before = openFiles();
  const made = must(create());
  writeFileSync(`${made.records.path}/trace.jsonl`, "");
  mkdirSync(`${made.runtime.path}/delegations`);
  writeFileSync(`${made.runtime.path}/delegations/one.txt`, "answer");
  expect((await made.removeRuntime()).ok).toBe(true);
  expect(readdirSync(`${home}/.murmur/sessions`)).toEqual([]);
  expect(statSync(`${made.records.path}/trace.jsonl`).isFile()).toBe(true);
  expect((await made.removeRuntime()).ok).toBe(true);
  made.close();
  made.close();
  await noMoreFilesThan(before);
});

test("a directory that cannot be opened to be emptied is not taken for removed", async () => {
  const made = must(create());
  const give = noDescriptors();
  const removed = await made.removeRuntime().finally(give);
  const what = `${home}/.murmur/sessions/${sessionId} could not be opened to remove what is in it`;
  expect(faultOf(removed)).toBe(`${what}: ${TOO_MANY}`);
  expect(existsSync(made.runtime.path)).toBe(true);
  made.close();
});

test("what another program keeps beside the runtime directory stays", async () => {
  const made = must(create());
  writeFileSync(`${home}/.murmur/sessions/${sessionId}/notes`, "");
  expect((await made.removeRuntime()).ok).toBe(true);
  expect(readdirSync(`${home}/.murmur/sessions/${sessionId}`)).toEqual(["notes"]);
  expect(lstatSync(made.records.path).isDirectory()).toBe(true);
  made.close();
});
