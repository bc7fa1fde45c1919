import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cloneContent,
  copyRange,
  read,
  seek,
  setLength,
  setMode,
  setModified,
  write,
} from "../../src/sys/content.ts";
import { close, type Descriptor, openPipe, setCloseOnExec } from "../../src/sys/descriptors.ts";
import {
  createFileAt,
  encodeName,
  makeDirectoryAt,
  makeLinkAt,
  openDirectoryAt,
  openDirectoryPath,
  openForReadingAt,
  readLinkAt,
  removeAt,
  removeDirectoryAt,
  renameAt,
  setModeAt,
} from "../../src/sys/entries.ts";
import type { Posix } from "../../src/sys/library.ts";
import { inOrder, listDirectory, statusAt, statusOf } from "../../src/sys/status.ts";

let folder: string;
let directory: Descriptor;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posix-"));
  directory = must(openDirectoryPath(folder));
});
afterEach(() => {
  close(directory);
  rmSync(folder, { recursive: true, force: true });
});

function must<T>(result: Posix<T>): T {
  if (!result.ok) throw new Error(result.fault);
  return result.value;
}

function errnoOf(result: Posix<unknown>): string {
  return result.ok ? "none" : result.fault;
}

const name = encodeName;

test("a system error is reported by its name, even under load on the same thread", () => {
  writeFileSync(join(folder, "file"), "");
  for (let round = 0; round < 20_000; round++) {
    expect(errnoOf(openForReadingAt(directory, name("absent")))).toBe("ENOENT");
    const rubbish = Array.from({ length: 20 }, () => ({ round }));
    expect(errnoOf(openDirectoryAt(directory, name("file")))).toBe("ENOTDIR");
    if (rubbish.length === 0) throw new Error("unreachable");
  }
  expect(errnoOf(makeDirectoryAt(directory, name("file"), 0o700))).toBe("EEXIST");
  expect(errnoOf(removeDirectoryAt(directory, name("file")))).toBe("ENOTDIR");
  expect(errnoOf(read(-1, new Uint8Array(1)))).toBe("EBADF");
  expect(errnoOf(seek(must(openPipe()).readEnd, 0, "start"))).toBe("ESPIPE");
});

test("a name that could leave its directory or be truncated is refused", () => {
  for (const bad of ["", "a/b", "/etc/passwd", "../x", "a\0b"]) {
    expect(errnoOf(openForReadingAt(directory, name(bad)))).toBe("EINVAL");
    expect(errnoOf(createFileAt(directory, name(bad)))).toBe("EINVAL");
    expect(errnoOf(renameAt(directory, name("a"), directory, name(bad)))).toBe("EINVAL");
  }
  expect(errnoOf(openForReadingAt(directory, new Uint8Array(256).fill(97)))).toBe("ENAMETOOLONG");
});

test("a link as the last component is refused, and its target is read as written", () => {
  symlinkSync("/etc", join(folder, "directory"));
  symlinkSync("/etc/passwd", join(folder, "file"));
  expect(["ELOOP", "ENOTDIR"]).toContain(errnoOf(openDirectoryAt(directory, name("directory"))));
  expect(["ELOOP", "ENOTDIR"]).toContain(errnoOf(openDirectoryPath(join(folder, "directory"))));
  expect(errnoOf(openForReadingAt(directory, name("file")))).toBe("ELOOP");
  expect(must(statusAt(directory, name("file"))).kind).toBe("link");
  expect(Buffer.from(must(readLinkAt(directory, name("file")))).toString()).toBe("/etc/passwd");

  const target = new Uint8Array([0x2f, 0xff, 0xfe]);
  must(makeLinkAt(target, directory, name("bytes")));
  expect(must(readLinkAt(directory, name("bytes")))).toEqual(target);
  must(makeLinkAt(name(`/${"x".repeat(4094)}`), directory, name("longest")));
  expect(must(readLinkAt(directory, name("longest"))).length).toBe(4095);
  expect(readlinkSync(join(folder, "longest")).length).toBe(4095);
});

test("a file is created once, with exactly its mode and with its time to the nanosecond", () => {
  const file = must(createFileAt(directory, name("file")));
  must(setMode(file, 0o622));
  expect(must(write(file, encodeName("content")))).toBe(7);
  expect(errnoOf(createFileAt(directory, name("file")))).toBe("EEXIST");
  must(setModified(file, { seconds: 1_600_000_000, nanoseconds: 123_456_789 }));
  close(file);

  const status = must(statusAt(directory, name("file")));
  const expected = statSync(join(folder, "file"), { bigint: true });
  expect(expected.mtimeNs).toBe(1_600_000_000_123_456_789n);
  expect(status).toEqual({
    kind: "file",
    mode: 0o622,
    owner: Number(expected.uid),
    device: status.device,
    inode: expected.ino,
    size: 7,
    allocated: Number(expected.blocks) * 512,
    modified: { seconds: 1_600_000_000, nanoseconds: 123_456_789 },
  });
  const again = must(openForReadingAt(directory, name("file")));
  expect(must(statusOf(again))).toEqual(status);
  must(setModified(again, { seconds: -5, nanoseconds: 1 }));
  expect(must(statusOf(again)).modified).toEqual({ seconds: -5, nanoseconds: 1 });
  close(again);
});

test("a mode is set by name without opening the file, and never on a link's target", () => {
  mkdirSync(join(folder, "closed"), { mode: 0o700 });
  writeFileSync(join(folder, "target"), "");
  chmodSync(join(folder, "closed"), 0);
  symlinkSync("target", join(folder, "link"));
  const before = lstatSync(join(folder, "target")).mode;
  must(setModeAt(directory, name("closed"), 0o711));
  expect(lstatSync(join(folder, "closed")).mode & 0o7777).toBe(0o711);
  setModeAt(directory, name("link"), 0o777);
  expect(lstatSync(join(folder, "target")).mode).toBe(before);
});

test("a listing holds every name as bytes, sorted, with its kind", () => {
  writeFileSync(join(folder, "b"), "");
  mkdirSync(join(folder, "a"));
  symlinkSync("b", join(folder, "c"));
  Bun.spawnSync(["mkfifo", join(folder, "d")]);
  close(must(createFileAt(directory, new Uint8Array([0x66, 0xff]))));
  const listed = must(listDirectory(directory));
  expect(must(listDirectory(directory))).toEqual(listed);
  expect(listed.map((entry) => [Buffer.from(entry.name).toString("latin1"), entry.kind])).toEqual([
    ["a", "directory"],
    ["b", "file"],
    ["c", "link"],
    ["d", "fifo"],
    ["f\xff", "file"],
  ]);
  const many = must(makeThenOpen("many"));
  for (let i = 0; i < 3000; i++) close(must(createFileAt(many, name(`${i}-${"x".repeat(100)}`))));
  expect(must(listDirectory(many)).length).toBe(3000);
  close(many);
});

test("a name that the system lists twice is one entry", () => {
  const listed = ["b", "a", "ab", "b", "a", "b"].map((text) => ({ name: name(text), kind: "file" as const }));
  const names = inOrder(listed).map((entry) => Buffer.from(entry.name).toString());
  expect(names).toEqual(["a", "ab", "b"]);
});

function makeThenOpen(text: string): Posix<Descriptor> {
  must(makeDirectoryAt(directory, name(text), 0o700));
  return openDirectoryAt(directory, name(text));
}

test("entries are moved and removed", () => {
  const inner = must(makeThenOpen("inner"));
  close(must(createFileAt(directory, name("file"))));
  must(renameAt(directory, name("file"), inner, name("moved")));
  expect(readdirSync(join(folder, "inner"))).toEqual(["moved"]);
  expect(errnoOf(removeDirectoryAt(directory, name("inner")))).toBe("ENOTEMPTY");
  expect(errnoOf(removeAt(directory, name("inner")))).toMatch(/EISDIR|EPERM/);
  must(removeAt(inner, name("moved")));
  must(removeDirectoryAt(directory, name("inner")));
  close(inner);
  expect(readdirSync(folder)).toEqual([]);
});

test("content is copied between descriptors, from position to position", () => {
  writeFileSync(join(folder, "from"), "0123456789");
  const from = must(openForReadingAt(directory, name("from")));
  const to = must(createFileAt(directory, name("to")));
  const cloned = cloneContent(from, to);
  if (!cloned.ok)
    expect(["EOPNOTSUPP", "ENOTSUP", "ENOTTY", "EXDEV", "EINVAL", "ENOSYS"]).toContain(cloned.fault);
  must(setLength(to, 0));
  must(seek(from, 2, "start"));
  const copied = copyRange(from, to, 5);
  if (copied.ok) {
    expect(copied.value).toBe(5);
    expect(readFileSync(join(folder, "to"), "utf8")).toBe("23456");
    expect(must(copyRange(from, to, 100))).toBe(3);
    expect(must(copyRange(from, to, 100))).toBe(0);
  } else {
    expect(["ENOSYS", "EXDEV", "EOPNOTSUPP"]).toContain(copied.fault);
  }
  expect(must(seek(from, 4 * 2 ** 30 + 7, "start"))).toBe(4 * 2 ** 30 + 7);
  close(from);
  close(to);
});

test("no program inherits a file opened here", () => {
  const { readEnd, writeEnd } = must(openPipe());
  expect(must(write(writeEnd, encodeName("x")))).toBe(1);
  expect(must(read(readEnd, new Uint8Array(4)))).toBe(1);
  const opened = must(makeThenOpen("opened"));
  const numbers = [readEnd, writeEnd, opened, directory];
  const script = numbers.map((number) => `(: <&${number}) 2>/dev/null && echo ${number}`).join("; ");
  expect(Bun.spawnSync(["bash", "-c", `${script}; true`]).stdout.toString()).toBe("");
  expect(setCloseOnExec(readEnd).ok).toBe(true);
  for (const number of [readEnd, writeEnd, opened]) close(number);
  expect(errnoOf(setCloseOnExec(readEnd))).toBe("EBADF");
});
