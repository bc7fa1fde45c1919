import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createDiagnostics } from "../../../src/runtime/output.ts";
import { hold, noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { scratchDirectory } from "../../kit/scratch.ts";

/** Diagnostics of a session whose spawner ends when it is told to. */
function diagnosing(path: string) {
  let written = "";
  const spawner = Promise.withResolvers<void>();
  const keep = async (bytes: Uint8Array) => {
    written += Buffer.from(bytes).toString();
  };
  const records = hold(path);
  const diagnose = createDiagnostics({ stdout: keep, stderr: keep }, records, { ended: spawner.promise });
  return {
    diagnose,
    records,
    written: () => written,
    async spawnerEnds() {
      spawner.resolve();
      await spawner.promise;
    },
  };
}

test("a diagnostic is one line and shows no token and no invisible character", async () => {
  using scratch = scratchDirectory();
  const { diagnose, written, records } = diagnosing(scratch.path);
  diagnose("first\nsecond \u001b[2J\u202e\ufe0f msc1.eyJ2.bWFj é😀");
  expect(written()).toBe("first second \\u001b[2J\\u202e\\ufe0f <redacted> é😀\n");
  records.close();
});

test("once the spawner has ended, lines go into the records directory that is held", async () => {
  using scratch = scratchDirectory();
  const path = join(scratch.path, "records");
  const elsewhere = join(scratch.path, "elsewhere");
  for (const made of [path, elsewhere]) mkdirSync(made);
  const { diagnose, written, records, spawnerEnds } = diagnosing(path);
  await spawnerEnds();
  const before = openFiles();
  diagnose("one");
  renameSync(path, `${path}-moved`);
  symlinkSync(elsewhere, path);
  diagnose("two");
  const log = join(`${path}-moved`, "logs", "bootstrap.log");
  expect(readFileSync(log, "utf8")).toBe("one\ntwo\n");
  expect(statSync(log).mode & 0o777).toBe(0o600);
  expect(existsSync(join(elsewhere, "logs"))).toBe(false);
  expect(written()).toBe("");
  records.close();
  diagnose("nobody hears this");
  await noMoreFilesThan(before);
});

test("a link or a FIFO in the place of the log is neither followed nor waited for", async () => {
  using scratch = scratchDirectory();
  for (const place of ["logs", "bootstrap.log"]) {
    const path = join(scratch.path, `records-${place}`);
    const elsewhere = join(scratch.path, `elsewhere-${place}`);
    for (const made of [path, elsewhere]) mkdirSync(made);
    if (place === "logs") symlinkSync(elsewhere, join(path, "logs"));
    else {
      mkdirSync(join(path, "logs"));
      symlinkSync(join(elsewhere, "log"), join(path, "logs", "bootstrap.log"));
    }
    const { diagnose, records, spawnerEnds } = diagnosing(path);
    await spawnerEnds();
    diagnose("one");
    expect(existsSync(join(elsewhere, place === "logs" ? "bootstrap.log" : "log"))).toBe(false);
    records.close();
  }
  const path = join(scratch.path, "records-fifo");
  mkdirSync(join(path, "logs"), { recursive: true });
  expect(Bun.spawnSync(["mkfifo", join(path, "logs", "bootstrap.log")]).exitCode).toBe(0);
  const { diagnose, records, spawnerEnds } = diagnosing(path);
  await spawnerEnds();
  diagnose("one");
  records.close();
});
