import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { snapshotWorkdir } from "../../../src/runtime/snapshot/snapshot.ts";
import { compiled } from "../../kit/compiled.ts";
import { hold, isRoot, type TestFolder, testFolder } from "../../kit/folders.ts";
import { readTree } from "./tree.ts";

let folder: TestFolder;
let source: string;

beforeEach(() => {
  folder = testFolder();
  source = folder.at("source");
  mkdirSync(source);
});
afterEach(() => folder.remove());

/** More of them where the slow tests are asked for. */
const ROUNDS = process.env.MUR_ROOST_SLOW_TESTS === "1" ? 1000 : 20;

test("a folder that another process rewrites is copied without a hang and without leaving it", async () => {
  const outside = folder.at("outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "outside");
  const rewriter = Bun.spawn([process.execPath, join(import.meta.dir, "rewriter.ts"), source, outside], {
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    const reader = rewriter.stdout.getReader();
    await reader.read();
    const reasons = new Set<string>();
    let files = 0;
    let links = 0;
    // On a busy machine the other process may have done little by then.
    for (let round = 0; round < ROUNDS || files === 0 || links === 0; round++) {
      const copy = folder.at(`copy-${round}`);
      mkdirSync(copy);
      const held = { source: hold(source), destination: hold(copy) };
      const made = await snapshotWorkdir({ ...held, ceilingBytes: 2 ** 40, runtimeOwned: [] });
      held.source.close();
      held.destination.close();
      if (!made.ok) throw new Error(made.fault.message);
      for (const { reason } of made.value.skipped) reasons.add(reason);
      let bytes = 0;
      for (const [path, seen] of readTree(copy)) {
        const at = join(copy, path);
        if (seen.kind === "file") {
          const content = readFileSync(at, "utf8");
          // No byte comes from outside the folder; a file may end anywhere.
          expect("inside ".repeat(Math.ceil(content.length / 7)).startsWith(content)).toBe(true);
          bytes += content.length;
          files++;
        } else if (seen.kind === "link") {
          expect(readlinkSync(at).startsWith(outside)).toBe(true);
          links++;
        } else {
          expect(seen.kind).toBe("directory");
        }
      }
      expect(made.value.bytes).toBe(bytes);
      rmSync(copy, { recursive: true });
      // What grows without end would fill the disk of a slow machine.
      rmSync(join(source, "growing"), { force: true });
    }
    expect(files).toBeGreaterThan(0);
    expect(links).toBeGreaterThan(0);
    for (const reason of reasons) expect(["unreadable", "fifo"]).toContain(reason);
    expect(rewriter.exitCode).toBe(null);
  } finally {
    rewriter.kill("SIGKILL");
    await rewriter.exited;
  }
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("outside");
});

const program = join(import.meta.dir, "copy-program.ts");
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const asUser = isRoot ? NOBODY : [];

/** Whether the other user can run what is here at all. */
const canBeUser =
  !isRoot ||
  (Bun.which("setpriv") !== null &&
    Bun.spawnSync([...NOBODY, process.execPath, "-e", "0"], { cwd: "/" }).exitCode === 0 &&
    Bun.spawnSync([...NOBODY, "test", "-r", program]).exitCode === 0);

test.skipIf(!canBeUser)(
  "what a user may not read is skipped by name (an ordinary user, or root by setpriv)",
  async () => {
    const copy = folder.at("copy");
    mkdirSync(copy);
    mkdirSync(join(source, "closed"));
    mkdirSync(join(source, "listed"));
    for (const name of ["closed/file", "listed/file", "no-mode", "plain"])
      writeFileSync(join(source, name), "x");
    chmodSync(join(source, "closed"), 0);
    chmodSync(join(source, "listed"), 0o444);
    chmodSync(join(source, "no-mode"), 0);
    if (isRoot) {
      Bun.spawnSync(["chown", "-R", "65534:65534", folder.path]);
    }
    const ran = Bun.spawn([...asUser, process.execPath, program, source, copy], {
      cwd: "/",
      stdout: "pipe",
      stderr: "inherit",
    });
    const outcome: unknown = JSON.parse(await ran.stdout.text());
    expect(await ran.exited).toBe(0);
    expect(outcome).toEqual({
      ok: true,
      value: {
        source,
        files: 1,
        dirs: 1,
        symlinks: 0,
        repointed_symlinks: 0,
        bytes: 1,
        skipped_count: 3,
        skipped: ["closed", "listed/file", "no-mode"].map((path) => ({ path, reason: "unreadable" })),
      },
    });
  },
);

test("a compiled program copies too: its thread needs no file beside it", async () => {
  const copy = folder.at("copy");
  mkdirSync(copy);
  writeFileSync(join(source, "file"), "content");
  const binary = await compiled(program);
  const ran = Bun.spawn([binary, source, copy], { cwd: "/", stdout: "pipe", stderr: "inherit" });
  expect(JSON.parse(await ran.stdout.text())).toMatchObject({ ok: true, value: { files: 1, bytes: 7 } });
  expect(readFileSync(join(copy, "file"), "utf8")).toBe("content");
});
