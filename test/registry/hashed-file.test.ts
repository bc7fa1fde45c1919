/** The bytes read are the bytes hashed, even if the file is written to meanwhile. */

import { expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArtifactFile } from "../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { FileChanged } from "../../src/registry/zip/hashed-file.ts";
import { inSlices } from "../../src/slices.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";
import { withFile } from "./zip/held-file.ts";

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const bytes = Buffer.from(Array.from({ length: 700_001 }, (_, index) => (index * 7 + (index >> 9)) % 256));

const whole = <T>(work: Generator<void, T>): T => {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
};

test("gives each byte once and the hash of all bytes, for any order of calls", () => {
  withFile(bytes, (file) => {
    expect(whole(file.peek(600_000, 100_001)).equals(bytes.subarray(600_000))).toBe(true);
    expect(whole(file.take(10)).equals(bytes.subarray(0, 10))).toBe(true);
    whole(file.skipTo(131_070));
    expect(whole(file.take(300_000)).equals(bytes.subarray(131_070, 431_070))).toBe(true);
    whole(file.skipTo(431_070));
    expect(file.position).toBe(431_070);
    expect(() => whole(file.skipTo(431_069))).toThrow(new RangeError("no way to go there"));
    expect(() => whole(file.take(bytes.length))).toThrow("it is truncated");
    expect(whole(file.finish()) as string).toBe(sha256(bytes));
  });
});

test("shows each byte once and in order to one who watches, however it is read", () => {
  withFile(bytes, (file) => {
    const shown: Buffer[] = [];
    whole(file.peek(600_000, 100_001));
    file.watch(function* (window) {
      shown.push(Buffer.from(window));
      yield;
    });
    whole(file.take(10));
    whole(file.skipTo(300_000));
    whole(file.finish());
    expect(Buffer.concat(shown).equals(bytes)).toBe(true);
  });
});

test("gives its last bytes, and none behind them", () => {
  withFile(bytes, (file) => {
    whole(file.skipTo(700_000));
    expect(() => whole(file.take(2))).toThrow("it is truncated");
    expect(whole(file.take(1)).equals(bytes.subarray(700_000))).toBe(true);
  });
});

test("lets others run between two parts of what it reads, in whatever way", () => {
  const pausesOf = (work: Generator<void, unknown>) => [...work].length;
  withFile(bytes, (file) => {
    expect(pausesOf(file.peek(100_000, 600_000))).toBeGreaterThanOrEqual(4);
    expect(pausesOf(file.take(300_000))).toBeGreaterThanOrEqual(2);
    expect(pausesOf(file.skipTo(700_000))).toBeGreaterThanOrEqual(3);
  });
});

test("hashes exactly the bytes that it has given out", () => {
  for (const changed of [0, 131_071, 699_999, 700_000]) {
    withFile(bytes, (file, path) => {
      whole(file.peek(changed - (changed % 1000), 1 + (changed % 1000)));
      const other = Buffer.from(bytes);
      other[changed] = (other[changed] ?? 0) ^ 1;
      writeFileSync(path, other);
      expect(() => whole(file.finish())).toThrow(FileChanged);
    });
  }
});

test("notices that the file has become shorter", () => {
  withFile(bytes, (file, path) => {
    truncateSync(path, 650_000);
    expect(() => whole(file.finish())).toThrow(FileChanged);
    expect(() => whole(file.peek(649_999, 2))).toThrow(FileChanged);
  });
});

test("an artifact that is overwritten while it is read is judged by the hashed bytes or refused", async () => {
  const filler = { name: "filler", method: STORED, content: Buffer.alloc(600_000, "a") };
  const archiveOf = (name: string) => zipBytes([filler, { name: "murmur.yaml", content: `name: ${name}\n` }]);
  const archives = [archiveOf("one"), archiveOf("two")] as const;
  const kinds = new Set<string>();
  using scratch = scratchDirectory();
  const path = join(scratch.path, "artifact");
  for (let at = 0; ; at++) {
    writeFileSync(path, archives[0]);
    const reading = readArtifactFile(path, new SpareDescriptors(0));
    let isOver = false;
    for (let pause = 0; pause < at; pause++) isOver = reading.next().done === true;
    if (isOver) break;
    writeFileSync(path, archives[1]);
    const read = await inSlices(reading);
    kinds.add(read.kind);
    if (read.kind !== "read") continue;
    const text = Buffer.from(read.manifestText).toString();
    const index = text === "name: one\n" ? 0 : 1;
    // All of one, or all of the other: the filler is the same in both.
    expect(read.sha256 as string).toBe(sha256(archives[index]));
  }
  expect([...kinds].sort()).toEqual(["failed", "read"]);
});
