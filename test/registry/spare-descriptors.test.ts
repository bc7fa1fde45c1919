import { expect, test } from "bun:test";
import { join } from "node:path";

const PROGRAM = join(import.meta.dir, "few-descriptors-program.ts");

test("spare descriptors are given up to open files once no other descriptor is left", () => {
  const run = Bun.spawnSync(["sh", "-c", 'ulimit -n 64 && exec "$0" "$@"', process.execPath, PROGRAM]);
  expect(run.stderr.toString()).toBe("");
  expect(JSON.parse(run.stdout.toString())).toEqual({
    // What is taken beforehand.
    held: 3,
    // Three files on spare descriptors, and no fourth.
    opened: 3,
    refused: "EMFILE",
    // A missing file takes no spare one, and one that cannot be opened gives it back, before anybody else takes it.
    missing: "ENOENT",
    missingWithoutRoom: "ENOENT",
    elsewhere: "EMFILE",
    openedAfterwards: 3,
    // Every one that is closed is held again.
    heldAgain: 3,
  });
});
