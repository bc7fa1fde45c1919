/** A capsule in the middle that is ended while its own child does not react still ends and records that child. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { closeSession } from "../../../src/runtime/index.ts";
import { GRACE_MS, HURRIED_GRACE_MS } from "../../../src/runtime/launch/held-process.ts";
import { compiled } from "../../kit/compiled.ts";
import { endAfterTest } from "../../kit/end-after-test.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { shared } from "../../kit/shared.ts";
import { until } from "../../kit/until.ts";
import { openParent, sharedWorld } from "../parent.ts";
import { processesOf, runArguments } from "../world.ts";
import { started } from "./driving.ts";
import { serveDelegations } from "./host.ts";

const world = sharedWorld();
const parent = shared(async (undo) => {
  const binary = await compiled(join(import.meta.dir, "three-levels-program.ts"));
  const made = await openParent(world(), binary, { worker: "spawn: {allow: [local/worker]}" });
  undo.defer(() => closeSession(made.session, "complete"));
  return made;
});
const served = shared((undo) => undo.adopt(serveDelegations(parent().session, 0), (door) => door.stop()));

/** A file in the records of a session, wherever its work folder is. */
function recorded(session: string, file: string): string {
  const records = join(world().home, ".murmur/records");
  const [path] = new Bun.Glob(`**/${session}/${file}`).scanSync({ cwd: records, absolute: true, dot: true });
  return readFileSync(path ?? `${session}/${file} in ${records}`, "utf8");
}

function traceOf(session: string): Record<string, unknown>[] {
  const lines = recorded(session, "trace.jsonl").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

function childOf(session: string): string {
  const start = traceOf(session).find(({ event }) => event === "delegation_start");
  return String(start?.child_session_id);
}

/** The lowest child was ended by the one in the middle, which lived to record it; the trace of that one. */
function endedFromTheMiddle(top: string): Record<string, unknown>[] {
  const middle = childOf(top);
  const trace = traceOf(middle);
  expect(trace.filter(({ event }) => event === "delegation")).toMatchObject([
    { outcome: "terminated", reason: "the delegating task was cancelled" },
  ]);
  expect(JSON.parse(recorded(childOf(middle), "completion.json"))).toMatchObject({
    status: "terminated",
    reported_by: "launcher",
    detail: "the parent ended this delegation",
  });
  return trace;
}

test("a capsule ended by SIGTERM ends its deaf child by itself, before its own 5 s are over", async () => {
  expect(HURRIED_GRACE_MS).toBeLessThan(GRACE_MS);
  // The clock of the top stands still, so that a busy machine cannot make it kill the middle first.
  const clock = manualClock(Date.now());
  const task = served().task({ session: { ...parent().session, clock } });
  await started(task, "middle");
  await until("the lowest is deaf", () => parent().written().includes("deaf from here on"));
  await task.cancel();
  // Nobody is left to wait for.
  expect(processesOf(parent().session.id)).toEqual([]);
  const trace = endedFromTheMiddle(parent().session.id);
  expect(trace.filter(({ event }) => event === "spawner_ended")).toEqual([]);
});

test("a capsule whose spawner has ended ends its deaf child within its own 20 s", async () => {
  const top = Bun.spawn([parent().binary, ...runArguments(world().workdir)], {
    env: parent().environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  endAfterTest(top);
  let said = "";
  const words = top.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!said.includes("deaf from here on")) {
    const { value, done } = await words.read();
    if (done) throw new Error(`it ended, and said: ${said}`);
    said += value;
  }
  top.kill("SIGKILL");
  await until("all of them are gone", () => processesOf(world().workdir).length === 0);
  const folder = join(world().home, ".murmur/records", world().workdir.slice(1));
  const session = readdirSync(folder).find((name) => name !== parent().session.id) ?? "";
  const trace = endedFromTheMiddle(session);
  expect(trace.filter(({ event }) => event === "spawner_ended")).toHaveLength(1);
});
