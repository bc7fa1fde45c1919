import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { CHILD_FILE_BYTES, holdChildRecords, readChildFile } from "../../src/runtime/child-files.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import type { HeldDirectory } from "../../src/runtime/tree/held.ts";
import { hold, isRoot, openFiles, type TestFolder, testFolder } from "../kit/folders.ts";

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
  expect(openFiles()).toBeLessThanOrEqual(before);
  expect(content.length).toBe(0);
  return read.ok ? "it was read" : `${read.fault.kind}: ${read.fault.message}`;
}

test("a file is read as a stream, whole up to the limit, and told to be cut past it", async () => {
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

test("no more than 64 MiB are read of any file", async () => {
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

test("links, FIFOs, sockets, directories and what is not there are told apart, and none of them is read", async () => {
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
