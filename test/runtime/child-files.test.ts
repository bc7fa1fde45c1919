import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { CHILD_FILE_BYTES, readChildFile } from "../../src/runtime/child-files.ts";
import type { HeldDirectory } from "../../src/runtime/tree/held.ts";
import { hold, noMoreFilesThan, openFiles, type TestFolder, testFolder } from "../kit/folders.ts";

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

async function readAll(names: readonly string[], limit?: number) {
  const chunks: Uint8Array[] = [];
  const read = await readChildFile(held, names, {
    ...(limit === undefined ? {} : { limit }),
    onChunk: (chunk) => void chunks.push(chunk),
  });
  return { read, content: Buffer.concat(chunks) };
}

async function refusalOf(names: readonly string[]) {
  const before = openFiles();
  const { read, content } = await readAll(names);
  await noMoreFilesThan(before);
  expect(content.length).toBe(0);
  return read.ok ? "it was read" : `${read.fault.kind}: ${read.fault.message}`;
}

test("a file is read as a stream, whole up to the limit and reported as cut beyond it", async () => {
  mkdirSync(folder.at("out"));
  const content = Buffer.alloc(700_000, "0123456789");
  writeFileSync(folder.at("out", "result.txt"), content);
  const names = ["out", "result.txt"];

  const whole = await readAll(names);
  expect(whole.read).toEqual({ ok: true, value: { bytes: 700_000, total: 700_000, cut: false } });
  expect(whole.content.equals(content)).toBe(true);
  const exact = await readAll(names, 700_000);
  expect(exact.read).toEqual({ ok: true, value: { bytes: 700_000, total: 700_000, cut: false } });
  const cut = await readAll(names, 300_000);
  expect(cut.read).toEqual({ ok: true, value: { bytes: 300_000, total: 700_000, cut: true } });
  expect(cut.content.equals(content.subarray(0, 300_000))).toBe(true);
  writeFileSync(folder.at("empty"), "");
  expect((await readAll(["empty"])).read).toEqual({ ok: true, value: { bytes: 0, total: 0, cut: false } });
});

test("at most 64 MiB of any file are read", async () => {
  writeFileSync(folder.at("huge"), "");
  truncateSync(folder.at("huge"), 10 * 2 ** 40);
  let bytes = 0;
  const read = await readChildFile(held, ["huge"], {
    onChunk: (chunk) => {
      bytes += chunk.length;
    },
  });
  expect(bytes).toBe(CHILD_FILE_BYTES);
  expect(read).toEqual({ ok: true, value: { bytes: 64 * 2 ** 20, total: 10 * 2 ** 40, cut: true } });
});

test("links, FIFOs, sockets, directories and missing files are told apart and not read", async () => {
  mkdirSync(folder.at("out"));
  writeFileSync(folder.at("secret"), "secret");
  symlinkSync("../secret", folder.at("out", "link"));
  symlinkSync(folder.at("out"), folder.at("link"));
  writeFileSync(folder.at("out", "result.txt"), "x");
  Bun.spawnSync(["mkfifo", folder.at("fifo")]);
  const socket = Bun.listen({ unix: folder.at("socket"), socket: { data() {} } });
  expect(await refusalOf(["out", "link"])).toStartWith("refused: ");
  expect(await refusalOf(["link", "result.txt"])).toStartWith("refused: ");
  expect(await refusalOf(["fifo"])).toBe(
    `refused: ${folder.at("fifo")} is not a regular file, so it is not read`,
  );
  expect(await refusalOf(["socket"])).toStartWith("refused: ");
  expect(await refusalOf(["out"])).toContain("is not a regular file");
  expect(await refusalOf(["out", "..", "secret", "x"])).toStartWith("refused: ");
  expect(await refusalOf(["absent"])).toBe(`absent: ${folder.at("absent")} is not there`);
  expect(await refusalOf(["absent", "result.txt"])).toStartWith("absent: ");
  expect(await refusalOf([])).toStartWith("refused: ");
  socket.stop(true);
});

test("a name that leads out of the directory is refused, and so is one that stays in it", async () => {
  mkdirSync(folder.at("inner"));
  writeFileSync(folder.at("secret"), "not the child's");
  const inner = hold(folder.at("inner"));
  try {
    for (const names of [["..", "secret"], [".", "..", "secret"], [".."], ["."]]) {
      const read = await readChildFile(inner, names, { onChunk: () => {} });
      expect([names, read]).toMatchObject([names, { ok: false, fault: { kind: "refused" } }]);
    }
  } finally {
    inner.close();
  }
});
