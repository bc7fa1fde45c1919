/** What reading an artifact gives when its file is not one that can be read to its end. */

import { afterAll, expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_ARTIFACT_BYTES, readArtifactFile } from "../../src/registry/artifact-file.ts";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";
import { atOnce } from "../../src/slices.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());
const path = join(scratch.path, "artifact");
const read = () => readArtifactFile(path, new SpareDescriptors(0));

test("a file that cannot be opened is tried again the next time", () => {
  expect(atOnce(readArtifactFile(join(scratch.path, "none"), new SpareDescriptors(0)))).toEqual({
    kind: "failed",
    fault: `${join(scratch.path, "none")}: No such file or directory (os error 2)`,
  });
});

test("the largest file that is read has exactly the limit's size", () => {
  writeFileSync(path, "");
  truncateSync(path, MAX_ARTIFACT_BYTES);
  const reading = read();
  expect(reading.next().done).toBe(false);
  reading.return({ kind: "unreadable", fault: "" });
  truncateSync(path, MAX_ARTIFACT_BYTES + 1);
  expect(atOnce(read())).toEqual({ kind: "unreadable", fault: `${path}: larger than 512 MiB` });
});

test("a file that becomes shorter while its directory is read has changed, and is no bad archive", () => {
  // Long names: the directory begins before the part of the file that is read first.
  const entries = Array.from({ length: 300 }, (_, index) => ({
    name: `${index}`.padEnd(1000, "x"),
    method: STORED,
  }));
  const archive = zipBytes([...entries, { name: "murmur.yaml", content: "name: a\n" }]);
  writeFileSync(path, archive);
  const reading = read();
  expect(reading.next().done).toBe(false);
  truncateSync(path, archive.length / 2);
  const rest: unknown[] = [];
  for (let step = reading.next(); ; step = reading.next()) {
    // It is whole again when it is read the next time.
    writeFileSync(path, archive);
    if (!step.done) continue;
    rest.push(step.value);
    break;
  }
  expect(rest).toEqual([{ kind: "failed", fault: `${path}: changed while it was being read` }]);
});
