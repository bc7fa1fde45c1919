import { expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { setModified } from "../../../src/sys/content.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { createFileAt } from "../../../src/sys/entries.ts";
import { hold, modeOf, noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { Copying } from "./copying.ts";
import { readTree } from "./tree.ts";

const copying = new Copying();
const { at } = copying;

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
  const { source, copy } = copying;
  const outside = copying.folder.at("outside");
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
  const made = await copying.copied();
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
  copying.copy = at("sub", "children", "worker-0");
  const owned = [hold(at("sub", "records")), hold(at("sub", "runtime"))];
  Bun.spawnSync(["mv", at("sub", "records"), at("sub", "renamed")]);
  const made = await copying.copied({ runtimeOwned: owned });
  for (const directory of owned) directory.close();
  expect(made.skipped).toEqual([
    { path: "out", reason: "runtime-owned" },
    { path: "peer-in", reason: "runtime-owned" },
    { path: "sub/children/worker-0", reason: "runtime-owned" },
    { path: "sub/renamed", reason: "runtime-owned" },
    { path: "sub/runtime", reason: "runtime-owned" },
  ]);
  expect([...readTree(copying.copy).keys()].sort()).toEqual(["sub", "sub/children", "sub/out"]);
});

test("links that use the user's name for the folder are re-pointed too", async () => {
  const { source, copy } = copying;
  symlinkSync(source, copying.folder.at("alias"));
  symlinkSync(copying.folder.at("alias", "file"), at("link"));
  expect((await copying.copied({ sourceAlias: copying.folder.at("alias") })).repointed_symlinks).toBe(1);
  expect(readlinkSync(`${copy}/link`)).toBe(`${copy}/file`);
});

test("a sparse file stays sparse", async () => {
  const { copy } = copying;
  const file = openSync(at("sparse"), "w");
  writeSync(file, "start", 0);
  writeSync(file, "middle", 30_000_000);
  closeSync(file);
  truncateSync(at("sparse"), 50_000_000);
  writeFileSync(at("hole"), "");
  truncateSync(at("hole"), 40_000_000);
  expect((await copying.copied()).bytes).toBe(90_000_000);
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
  const script = `import os\nos.chdir(${JSON.stringify(copying.source)})\nfor i in range(300):\n os.mkdir("d"*200)\n os.chdir("d"*200)\n open("f","w").write("x")\nos.mkfifo("fifo")\nos.chmod(".", 0o555)`;
  if (Bun.spawnSync(["python3", "-c", script]).exitCode !== 0) {
    // Without that program, step by step.
    let deep = "";
    for (let level = 0; level < 15; level++) {
      deep += `/${"d".repeat(200)}`;
      mkdirSync(copying.source + deep);
      writeFileSync(`${copying.source}${deep}/f`, "x");
    }
  }
  const before = openFiles();
  const made = await copying.copied();
  expect(made.files).toBe(made.dirs);
  expect(made.bytes).toBe(made.dirs);
  if (made.dirs === 300) expect(made.skipped_count).toBe(1);
  expect(JSON.stringify(made).length).toBeLessThanOrEqual(32 * 1024);
  await noMoreFilesThan(before);
  copying.source = copying.copy;
  copying.copy = copying.folder.at("second");
  mkdirSync(copying.copy);
  expect((await copying.copied()).files).toBe(made.files);
});
