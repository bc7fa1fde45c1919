/** What a session store keeps: objects are counted by their kind, as the engine knows them. */

import { expect, test } from "bun:test";
import { join } from "node:path";

const counted = Bun.spawnSync([process.execPath, join(import.meta.dir, "kept-objects.ts")]);
if (!counted.success) throw new Error(counted.stderr.toString());
const added: Readonly<Record<string, Readonly<Record<string, number>>>> = JSON.parse(
  counted.stdout.toString(),
);

test.each([
  // Three quarters of 1,024, and then of 2,048 and 4,096.
  ["768 finished", 1],
  ["769 finished", 2],
  ["5376 finished", 3],
  ["5377 finished", 4],
])("%s sessions need no objects, and their tables grow by doubling", (history, tables) => {
  expect(added[history]?.Uint32Array).toBe(tables);
  expect(added[history]?.Object).toBeLessThan(100);
});

test("a session that ended before its children needs no objects once its last child has ended", () => {
  // Each approval stays for its minute.
  expect(added["1000 orphans"]?.Object).toBeLessThan(1100);
});

test("approvals of a few seconds are kept together and forgotten together", () => {
  // One for each five seconds that begin, the last at twenty, and that of the sessions.
  expect(added["2001 reserved"]?.Map).toBe(6);
  expect(added["2001 reserved"]?.Object).toBeGreaterThan(1990);
  expect(added["2001 expired"]?.Map).toBe(1);
  expect(added["2001 expired"]?.Object).toBeLessThan(100);
});
