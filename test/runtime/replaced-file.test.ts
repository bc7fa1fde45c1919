import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fault } from "../../src/result.ts";
import { replaceFile } from "../../src/runtime/tree/files.ts";
import { writeAll } from "../../src/sys/content.ts";
import { close, type Descriptor } from "../../src/sys/descriptors.ts";
import { openDirectoryPath } from "../../src/sys/entries.ts";
import { noMoreFilesThan, openFiles } from "../kit/folders.ts";
import { scratchDirectory } from "../kit/scratch.ts";

let scratch: ReturnType<typeof scratchDirectory>;
let directory: Descriptor;

beforeEach(() => {
  scratch = scratchDirectory();
  const opened = openDirectoryPath(scratch.path);
  if (!opened.ok) throw new Error(opened.fault);
  directory = opened.value;
  writeFileSync(join(scratch.path, "kept"), "old");
});
afterEach(() => {
  close(directory);
  scratch[Symbol.dispose]();
});

test("a file is replaced whole", async () => {
  expect(await replaceFile(directory, "kept", (to) => writeAll(to, Buffer.from("new")))).toEqual({
    ok: true,
    value: undefined,
  });
  expect(readFileSync(join(scratch.path, "kept"), "utf8")).toBe("new");
  expect(readdirSync(scratch.path)).toEqual(["kept"]);
});

test.skipIf(process.platform !== "linux")(
  "a failure to fill the file leaves the old one and no other",
  async () => {
    const before = openFiles();
    expect(await replaceFile(directory, "kept", () => fault("ENOSPC"))).toEqual(fault("ENOSPC"));
    const thrown = replaceFile(directory, "kept", async () => {
      throw new RangeError("Out of memory");
    });
    await expect(thrown).rejects.toThrow("Out of memory");
    expect(readFileSync(join(scratch.path, "kept"), "utf8")).toBe("old");
    expect(readdirSync(scratch.path)).toEqual(["kept"]);
    await noMoreFilesThan(before);
  },
);
