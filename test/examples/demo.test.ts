/** `npm run demo`, as a newcomer runs it. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../kit/documents.ts";
import { scratchDirectory } from "../kit/scratch.ts";

setDefaultTimeout(120_000);

test("plays its three acts to the end, and leaves nothing behind", async () => {
  using scratch = scratchDirectory();
  const demo = Bun.spawn([process.execPath, join(ROOT, "examples/demo.ts")], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: scratch.path },
  });
  const [told, said] = await Promise.all([demo.stdout.text(), demo.stderr.text()]);
  expect([await demo.exited, said]).toEqual([0, ""]);
  const statuses = [...told.matchAll(/^ {2}< (\d+)/gm)].map(([, status]) => Number(status));
  expect(statuses).toEqual([200, 200, 200, 403, 200, 200, 403, 403, 200, 200, 200]);
  const [, , third = ""] = told.split("\n———\n");
  expect(third).toMatch(/delegate-task greedy: refused\n {2}capabilities\.network\.allow: /);
  expect(third).toMatch(/ended crashed:/);
  expect(third).toMatch(/ended ok:/);
  expect(readdirSync(scratch.path)).toEqual([]);
});
