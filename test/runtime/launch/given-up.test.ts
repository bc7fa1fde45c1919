/** A launch that is given up while it waits for something that does not come. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LaunchOutcome, launch, type RegisteredSession } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { PRELUDE, STAY, writeChild } from "../delegation/shell-child.ts";
import { coordinates, sharedParent } from "../parent.ts";
import { processesOf } from "../world.ts";

const { world, parent } = sharedParent();

/** A launch on a clock that nobody moves. `bounds` are the waits that it began, in milliseconds. */
function launched(more: Partial<RegisteredSession>, ...lines: readonly string[]) {
  const clock = manualClock(Date.now());
  const bounds: number[] = [];
  const after = (ms: number, callback: () => void) => {
    bounds.push(ms);
    return clock.after(ms, callback);
  };
  const binary = writeChild(world().home, "waited-for", ...PRELUDE, ...lines);
  const environment = { ...parent().environment, MURMUR_MUR_BINARY: binary };
  const session = { ...parent().session, environment, clock: { ...clock, after }, ...more };
  const giveUp = new AbortController();
  const asked = { ...coordinates("local/worker"), contextId: "ctx_test", signal: giveUp.signal };
  let outcome: LaunchOutcome | undefined;
  void launch(session, asked).then((settled) => {
    outcome = settled;
  });
  return {
    clock,
    bounds,
    async givenUp() {
      giveUp.abort();
      await until("the launch has settled", () => outcome !== undefined);
      // A process that a shell script has just forked keeps the script's command line for a moment.
      await until("every process is gone", () => processesOf(session.id).length === 0);
      return outcome;
    },
  };
}

test("the capsule's store is not waited for", async () => {
  const asked = Promise.withResolvers<void>();
  const resolveChild = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const { givenUp } = launched({ store: { ...parent().session.store, resolveChild } });
  await asked.promise;
  expect(await givenUp()).toMatchObject({ kind: "failed", failure: { cause: "canceled" } });
  expect(parent().children()).toEqual([]);
});

test("the end of a child that has closed its standard output is not waited for", async () => {
  const { clock, bounds, givenUp } = launched({}, "exec >&-", STAY);
  await until("its end is waited for", () => bounds.includes(5_000));
  expect(await givenUp()).toMatchObject({ kind: "failed", failure: { cause: "canceled" } });
  await until("no timer is left", () => clock.waiting() === 0);
});

test("the end of the standard error of a child that has failed is not waited for", async () => {
  const pid = join(world().home, "left.pid");
  const leaves = `sleep 1000 >/dev/null & echo $! > '${pid}'; echo why >&2; exit 3`;
  const { clock, givenUp } = launched({}, leaves);
  // The other one is of the reading of that pipe.
  await until("the pipe's end is waited for", () => existsSync(pid) && clock.waiting() === 2);
  // It has failed before.
  expect(await givenUp()).toMatchObject({ kind: "failed", failure: { cause: "ended", lastLines: [] } });
  process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
  await until("no timer is left", () => clock.waiting() === 0);
});
