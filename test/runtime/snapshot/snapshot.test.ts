import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import type { SnapshotRequest } from "../../../src/runtime/snapshot/snapshot.ts";
import { snapshotWorkdir } from "../../../src/runtime/snapshot/snapshot.ts";
import { setModified } from "../../../src/sys/content.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { createFileAt } from "../../../src/sys/entries.ts";
import { hold, modeOf, noMoreFilesThan, openFiles, type TestFolder, testFolder } from "../../kit/folders.ts";
import { until } from "../../kit/until.ts";
import { readTree } from "./tree.ts";

let folder: TestFolder;
let source: string;
let copy: string;

beforeEach(() => {
  folder = testFolder();
  source = folder.at("source");
  copy = folder.at("copy");
  mkdirSync(source);
  mkdirSync(copy, { mode: 0o700 });
});
afterEach(() => folder.remove());

async function snapshot(options: Partial<SnapshotRequest> = {}) {
  const held = { source: hold(source), destination: hold(copy) };
  const outcome = await snapshotWorkdir({ ...held, ceilingBytes: 2 ** 40, runtimeOwned: [], ...options });
  held.source.close();
  held.destination.close();
  return outcome;
}

async function copied(options: Partial<SnapshotRequest> = {}) {
  const outcome = await snapshot(options);
  if (!outcome.ok) throw new Error(outcome.fault.message);
  return outcome.value;
}

async function faultOf(options: Partial<SnapshotRequest> = {}) {
  const outcome = await snapshot(options);
  if (outcome.ok) throw new Error("this was to fail");
  expect(readdirSync(copy)).toEqual([]);
  return outcome.fault;
}

const at = (...names: string[]) => [source, ...names].join("/");

/** A file under any bytes, with any time. */
function writeBytes(directory: string, name: Uint8Array, nanoseconds = 0): void {
  const parent = hold(directory);
  const made = createFileAt(parent.descriptor, name);
  if (!made.ok) throw new Error(made.fault);
  setModified(made.value, { seconds: 1_50_000_000, nanoseconds });
  close(made.value);
  parent.close();
}

test("every kind of entry is copied and counted: contents, modes, exact times, and links", async () => {
  const outside = folder.at("outside");
  mkdirSync(at("sub", "empty"), { recursive: true });
  mkdirSync(at("read-only"));
  writeFileSync(at("empty-file"), "");
  writeFileSync(at("sub", "script"), "#!/bin/sh\n");
  writeFileSync(at("sub", "large"), Buffer.alloc(20_000_000, "large and not a round number of blocks "));
  writeFileSync(at("read-only", "file"), "x");
  writeFileSync(at("setuid"), "s");
  linkSync(at("sub", "script"), at("hard-link"));
  writeBytes(source, new Uint8Array([0x6e, 0xff, 0xfe, 0x0a]), 123_456_789);
  writeBytes(source, Buffer.from("-rf *"), 999_999_999);
  const links: Record<string, readonly [string, string]> = {
    relative: ["sub/script", "sub/script"],
    "relative-out": ["../outside", "../outside"],
    "absolute-in": [at("sub", "script"), `${copy}/sub/script`],
    "absolute-out": [outside, outside],
    sibling: [`${source}-other/file`, `${source}-other/file`],
    dangling: [at("no", "where"), `${copy}/no/where`],
    root: [source, copy],
    winding: [`${source}/sub/../../source/sub`, `${copy}/sub`],
    leaving: [`${source}/../outside`, `${source}/../outside`],
    "sub/deep": [at("sub"), `${copy}/sub`],
  };
  for (const [name, [target]] of Object.entries(links)) symlinkSync(target, at(name));
  Bun.spawnSync(["mkfifo", at("sub", "fifo")]);
  const socket = Bun.listen({ unix: at("socket"), socket: { data() {} } });
  chmodSync(at("setuid"), 0o4755);
  chmodSync(at("sub", "script"), 0o751);
  chmodSync(at("read-only", "file"), 0o400);
  chmodSync(at("sub", "empty"), 0o3775);
  chmodSync(at("read-only"), 0o555);
  for (const path of [at("sub", "large"), at("sub", "empty"), at("read-only"), at("sub")])
    utimesSync(path, 1e9, 1e9 + 0.125);

  const original = readTree(source);
  const expected = new Map(original);
  const made = await copied();
  expect(readTree(source)).toEqual(original);
  socket.stop(true);

  expect(made).toEqual({
    source,
    files: 8,
    dirs: 3,
    symlinks: 10,
    repointed_symlinks: 5,
    bytes: 20_000_000 + 10 + 10 + 1 + 1,
    skipped_count: 2,
    skipped: [
      { path: "socket", reason: "socket" },
      { path: "sub/fifo", reason: "fifo" },
    ],
  });
  for (const [path, seen] of expected) {
    if (seen.kind === "other") expected.delete(path);
    else if (seen.kind === "link") expected.set(path, { kind: "link", content: links[path]?.[1] ?? "" });
    else expected.set(path, { ...seen, mode: (seen.mode ?? 0) & 0o777 });
  }
  const got = readTree(copy);
  expect([...got.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [path, seen] of expected) expect([path, got.get(path)]).toEqual([path, seen]);
  expect(modeOf(copy)).toBe(0o700);
  expect(statSync(`${copy}/hard-link`).nlink).toBe(1);
});

test("the runtime's own directories are left out, recognized by identity and not by name", async () => {
  mkdirSync(at("peer-in", "x"), { recursive: true });
  writeFileSync(at("out"), "");
  mkdirSync(at("sub", "out"), { recursive: true });
  mkdirSync(at("sub", "records"));
  mkdirSync(at("sub", "runtime"));
  mkdirSync(at("sub", "children", "worker-0"), { recursive: true });
  copy = at("sub", "children", "worker-0");
  const owned = [hold(at("sub", "records")), hold(at("sub", "runtime"))];
  Bun.spawnSync(["mv", at("sub", "records"), at("sub", "renamed")]);
  const made = await copied({ runtimeOwned: owned });
  for (const directory of owned) directory.close();
  expect(made.skipped).toEqual([
    { path: "out", reason: "runtime-owned" },
    { path: "peer-in", reason: "runtime-owned" },
    { path: "sub/children/worker-0", reason: "runtime-owned" },
    { path: "sub/renamed", reason: "runtime-owned" },
    { path: "sub/runtime", reason: "runtime-owned" },
  ]);
  expect([...readTree(copy).keys()].sort()).toEqual(["sub", "sub/children", "sub/out"]);
});

test("links that use the user's name for the folder are re-pointed too", async () => {
  symlinkSync(source, folder.at("alias"));
  symlinkSync(folder.at("alias", "file"), at("link"));
  expect((await copied({ sourceAlias: folder.at("alias") })).repointed_symlinks).toBe(1);
  expect(readlinkSync(`${copy}/link`)).toBe(`${copy}/file`);
});

test("a sparse file stays sparse", async () => {
  const file = openSync(at("sparse"), "w");
  writeSync(file, "start", 0);
  writeSync(file, "middle", 30_000_000);
  closeSync(file);
  truncateSync(at("sparse"), 50_000_000);
  writeFileSync(at("hole"), "");
  truncateSync(at("hole"), 40_000_000);
  expect((await copied()).bytes).toBe(90_000_000);
  expect(statSync(`${copy}/hole`).size).toBe(40_000_000);
  const status = statSync(`${copy}/sparse`);
  expect(status.size).toBe(50_000_000);
  // Sparse as far as the file system under the test knows of it.
  if (statSync(at("sparse")).blocks * 512 < 1_000_000) expect(status.blocks * 512).toBeLessThan(1_000_000);
  const read = readFileSync(`${copy}/sparse`);
  expect(read.subarray(0, 5).toString()).toBe("start");
  expect(read.subarray(30_000_000, 30_000_006).toString()).toBe("middle");
  expect(read.subarray(6, 30_000_000).every((byte) => byte === 0)).toBe(true);
});

test("a tree too deep for any path is copied, counted and removed", async () => {
  const script = `import os\nos.chdir(${JSON.stringify(source)})\nfor i in range(300):\n os.mkdir("d"*200)\n os.chdir("d"*200)\n open("f","w").write("x")\nos.mkfifo("fifo")\nos.chmod(".", 0o555)`;
  if (Bun.spawnSync(["python3", "-c", script]).exitCode !== 0) {
    // Without that program, step by step.
    let deep = "";
    for (let level = 0; level < 15; level++) {
      deep += `/${"d".repeat(200)}`;
      mkdirSync(source + deep);
      writeFileSync(`${source}${deep}/f`, "x");
    }
  }
  const before = openFiles();
  const made = await copied();
  expect(made.files).toBe(made.dirs);
  expect(made.bytes).toBe(made.dirs);
  if (made.dirs === 300) expect(made.skipped_count).toBe(1);
  expect(JSON.stringify(made).length).toBeLessThanOrEqual(32 * 1024);
  await noMoreFilesThan(before);
  source = copy;
  copy = folder.at("second");
  mkdirSync(copy);
  expect((await copied()).files).toBe(made.files);
});

test("a copy of exactly the ceiling succeeds; one byte more stops it, and nothing is left", async () => {
  mkdirSync(at("sub"), { mode: 0o555 });
  writeFileSync(at("a"), "12345");
  writeFileSync(at("b"), "12345");
  const fault = await faultOf({ ceilingBytes: 9 });
  expect(fault.kind).toBe("ceiling");
  expect(fault.message).toContain("9 bytes");
  expect(fault.message).toContain("capabilities.resources.workdir_max_bytes");
  expect(fault.message).toContain(source);
  expect((await copied({ ceilingBytes: 10 })).bytes).toBe(10);
});

test("a destination that cannot take an entry fails the copy and says which", async () => {
  mkdirSync(at("sub"));
  writeFileSync(at("sub", "file"), "mine");
  mkdirSync(`${copy}/sub`);
  const fault = await faultOf();
  expect(fault.kind).toBe("failed");
  expect(fault.message).toContain("sub could not be made: ");
  expect(readFileSync(at("sub", "file"), "utf8")).toBe("mine");
});

test("a copy that is aborted ends, also in the middle of a file, and leaves nothing behind", async () => {
  writeFileSync(at("large"), Buffer.alloc(64 * 1024 * 1024, 1));
  for (let file = 0; file < 3; file++) copyFileSync(at("large"), at(`large-${file}`));
  const before = openFiles();
  // Tried again if a busy machine finished the whole copy before this thread heard of its start.
  await until("a copy is given up on the way", async () => {
    const giveUp = new AbortController();
    const outcome = await snapshot({ signal: giveUp.signal, onProgress: () => giveUp.abort() });
    if (outcome.ok) {
      rmSync(copy, { recursive: true });
      mkdirSync(copy, { mode: 0o700 });
      return false;
    }
    expect(outcome.fault.kind).toBe("aborted");
    expect(readdirSync(copy)).toEqual([]);
    return true;
  });
  expect((await faultOf({ signal: AbortSignal.abort() })).kind).toBe("aborted");
  await noMoreFilesThan(before);
});

test("progress is reported, grows, and ends at the total", async () => {
  for (let file = 0; file < 20; file++) writeFileSync(at(`file-${file}`), Buffer.alloc(1000 * file));
  const told: number[] = [];
  let last: unknown;
  const made = await copied({
    onProgress: (progress) => {
      told.push(progress.bytes);
      last = progress;
    },
  });
  expect(last).toEqual({ files: 20, dirs: 0, symlinks: 0, bytes: made.bytes });
  expect([...told].sort((a, b) => a - b)).toEqual(told);
});

test("many copies, one after the other and at once, leave no descriptor and no thread open", async () => {
  writeFileSync(at("file"), "x");
  const copyTo = async (name: string) => {
    mkdirSync(folder.at(name));
    const destination = hold(folder.at(name));
    const made = await snapshot({ destination });
    destination.close();
    expect(made.ok).toBe(true);
  };
  await copyTo("first");
  const before = openFiles();
  for (let round = 0; round < 20; round++) await copyTo(`one-${round}`);
  await Promise.all(Array.from({ length: 8 }, (_, round) => copyTo(`many-${round}`)));
  await noMoreFilesThan(before);
  expect(existsSync(folder.at("many-7", "file"))).toBe(true);
  expect(lstatSync(source).isDirectory()).toBe(true);
});
