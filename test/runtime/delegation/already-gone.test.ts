/** A child that is gone, but whose exit was not yet noticed when its parent ends it, keeps its own outcome. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { shell, start } from "../launch/starting.ts";
import { type PlayedTask, playedTask, settled, WATCH_SECS } from "./played.ts";
import type { PlayedChild } from "./played-child.ts";

const DEADLINE_MS = WATCH_SECS * 1_000;

/** A real process behind a played child, and a function that ends it without a turn of the event loop. */
function realProcess() {
  const running = start(shell("exec sleep 1000"));
  const { pid, exited, signal } = running;
  return {
    launched: { pid, exited, signal },
    end() {
      process.kill(pid, "SIGKILL");
      while (!hasExited(pid)) Bun.sleepSync(1);
    },
  };
}

/** Whether it is a zombie. */
function hasExited(pid: number): boolean {
  if (process.platform !== "linux") {
    return Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)])
      .stdout.toString()
      .startsWith("Z");
  }
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

/** Each acts before the event loop turns. */
const ends: [string, (played: PlayedTask) => Promise<unknown>][] = [
  ["its task is cancelled", ({ task }) => task.cancel()],
  ["its task has ended", ({ task }) => task.settle({ kind: "ended", exitStatus: "error" }, () => {})],
  [
    "its deadline is reached",
    async (one) => {
      await one.clock.advance(DEADLINE_MS);
      return settled(one);
    },
  ],
];

test.each(ends)("its record stands if %s", async (_, endIt) => {
  const one = playedTask();
  const { launched, end } = realProcess();
  const child = await one.start({ launched });
  child.writes({ status: "error", detail: "its own words", delivered: false });
  end();
  await endIt(one);
  expect(child.record()).toMatchObject({ status: "error", detail: "its own words", reported_by: "child" });
  expect(one.closes()).toEqual([{ outcome: "error", reason: null }]);
});

test.each(ends)("it has crashed without a record if %s", async (_, endIt) => {
  const one = playedTask();
  const { launched, end } = realProcess();
  const child = await one.start({ launched });
  end();
  await endIt(one);
  expect(child.record()).toMatchObject({ status: "crashed", detail: "signal: 9 (SIGKILL)\na last line" });
  expect(one.closes()).toEqual([{ outcome: "crashed", reason: "signal: 9 (SIGKILL)" }]);
});

test.each<[string, boolean, object]>([
  ["its record stands", true, { status: "error", detail: "its own words" }],
  [
    "it has crashed without a record",
    false,
    { status: "crashed", detail: "signal: 9 (SIGKILL)\na last line" },
  ],
])("%s if it did not take its task", async (_, records, recorded) => {
  const { launched, end } = realProcess();
  const children: PlayedChild[] = [];
  const one = playedTask({
    deliver: async () => {
      if (records) children[0]?.writes({ status: "error", detail: "its own words", delivered: false });
      end();
      return { ok: false, fault: "it rejected the task" };
    },
  });
  const child = one.child({ launched });
  children.push(child);
  await one.call();
  expect(child.record()).toMatchObject(recorded);
});
