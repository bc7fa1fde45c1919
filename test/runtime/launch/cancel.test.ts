/** A launch that is aborted at any point leaves only the folder of a child that was started. */

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  endAll,
  type LaunchOutcome,
  launch,
  parseRoostUrl,
  type RegisteredSession,
} from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { rawServer } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { PRELUDE, STAY, says, writeChild } from "../delegation/shell-child.ts";
import { atEachMoment, watchedSession } from "../observed.ts";
import { coordinates, openParent, sharedParent } from "../parent.ts";
import { processesOf } from "../world.ts";

const { world, parent } = sharedParent({
  parent: "spawn: {allow: [local/worker], workdir_snapshot: [local/worker]}, env: {allow: [CHILD_MODE]}",
});
beforeAll(() => {
  for (const name of ["one", "two"]) writeFileSync(join(world().workdir, name), name);
});

const asked = { ...coordinates("local/worker"), contextId: "ctx_test" };
const processes = (by = parent()) => processesOf(by.session.id);
const withBinary = (binary: string): RegisteredSession => ({
  ...parent().session,
  environment: { ...parent().environment, MURMUR_MUR_BINARY: binary },
});

const reservations = async (by = parent()) => {
  const answer = await by.session.registration.client.status(by.session.id);
  if (answer.kind !== "granted") throw new Error(JSON.stringify(answer));
  return answer.value.live_children;
};

/** What one launch returned, and that it left nothing behind: `before` is what existed before it. */
async function leavesNothing(
  outcome: LaunchOutcome,
  before: { folders: string[]; descriptors: number },
  by = parent(),
) {
  const added = by.children().filter((name) => !before.folders.includes(name));
  if (outcome.kind === "launched") {
    expect(added).toEqual([outcome.child.workdir.path.split("/").at(-1) ?? ""]);
    await endAll([outcome.child], patientClock);
    outcome.child.release();
  } else {
    if (outcome.kind !== "failed") throw new Error(JSON.stringify(outcome));
    expect(outcome.failure.cause).toBe("canceled");
    expect(outcome.failure.message).toBe("could not launch local/worker@0.1.0: the launch was given up");
    const { started } = outcome.failure;
    expect(added).toEqual(started ? [started.workdir.split("/").at(-1) ?? ""] : []);
  }
  // A process that a shell script has just forked keeps the script's command line for a moment.
  await until("every process is gone", () => processes(by).length === 0);
  await noMoreFilesThan(before.descriptors);
}

const standing = (by = parent()) => ({ folders: by.children(), descriptors: openFiles() });

test("a launch that is aborted at any moment leaves nothing behind", async () => {
  const ready = withBinary(writeChild(world().home, "ready", ...PRELUDE, says(""), STAY));
  // The first launch opens what stays open afterwards.
  const first = { ...standing(), descriptors: Number.POSITIVE_INFINITY };
  await leavesNothing(await launch(ready, asked), first);
  const cameTo: ("nothing" | "ended" | "launched")[] = [];
  const moments = await atEachMoment(async ({ touched, arm }) => {
    const before = standing();
    const granted = await reservations();
    const giveUp = new AbortController();
    arm(() => giveUp.abort());
    // How often a copy says how far it is depends on its speed. Every run must have the same moments.
    let told = false;
    const progress = () => {
      if (!told) touched("the copy");
      told = true;
    };
    const outcome = await launch(watchedSession(ready, touched), {
      ...asked,
      signal: giveUp.signal,
      onProgress: progress,
    });
    const ended = outcome.kind === "failed" && outcome.failure.started ? "ended" : "nothing";
    cameTo.push(outcome.kind === "launched" ? "launched" : ended);
    await leavesNothing(outcome, before);
    // At most the approval's own minute.
    expect((await reservations()) - granted).toBeLessThanOrEqual(1);
  });
  for (const step of [
    "clock.after()",
    "registration.client.spawn has settled",
    "store.resolveChild has settled",
    "the copy",
    "environment",
  ]) {
    expect(moments).toContain(step);
  }
  // The environment is made right before the start; from then on a process is ended, until it was ready before.
  const at = (moment: string) => cameTo[moments.indexOf(moment)];
  expect([at("the copy"), at("environment"), cameTo.at(-1)]).toEqual(["nothing", "ended", "launched"]);
  const order = ["nothing", "ended", "launched"];
  expect(cameTo).toEqual([...cameTo].sort((one, other) => order.indexOf(one) - order.indexOf(other)));
});

describe("while its child", () => {
  /** Gives a launch up once its child has come to `marker`, a file in its work folder. */
  async function giveUpAt(session: RegisteredSession, marker: string) {
    const before = standing();
    const giveUp = new AbortController();
    const launching = launch(session, { ...asked, signal: giveUp.signal });
    await until("the child is there", () => {
      const [added] = parent()
        .children()
        .filter((name) => !before.folders.includes(name));
      return (
        added !== undefined &&
        existsSync(join(parent().session.directories.records.path, "children", added, marker))
      );
    });
    giveUp.abort();
    // Whatever happens immediately has happened by now.
    await new Promise((turn) => setImmediate(turn));
    return { launching, before };
  }

  test.each<[string, string[]]>([
    ["has not taken its approval", [": > here", STAY]],
    ["has taken it and says nothing", [...PRELUDE, ": > here", STAY]],
    ["has said half a line", [...PRELUDE, `printf '{"session_id":"'; : > here`, STAY]],
    // A line that arrives now is ignored.
    [
      "says its line when it is told to end",
      [...PRELUDE, `ready() { ${says("")}; exit 0; }`, "trap ready TERM", ": > here", STAY],
    ],
    ["fails when it is told to end", ["trap 'echo failing >&2; exit 3' TERM", ": > here", STAY]],
  ])("%s", async (_, lines) => {
    // A clock that is never moved: neither a grace nor the end of a pipe is waited for.
    const clock = manualClock(Date.now());
    const session = { ...withBinary(writeChild(world().home, "holds", ...lines)), clock };
    const { launching, before } = await giveUpAt(session, "here");
    await leavesNothing(await launching, before);
    await until("no timer is left", () => clock.waiting() === 0);
  });

  test("ignores SIGTERM, the child is killed after its grace period", async () => {
    const clock = manualClock(Date.now());
    const deaf = writeChild(world().home, "deaf", "trap '' TERM", ": > here", STAY);
    const { launching, before } = await giveUpAt({ ...withBinary(deaf), clock }, "here");
    await clock.advance(4_999);
    expect(processes()).toHaveLength(1);
    await clock.advance(1);
    await leavesNothing(await launching, before);
  });

  test("has left a process that holds its pipes, the launch does not wait for it", async () => {
    const clock = manualClock(Date.now());
    const leaves = writeChild(world().home, "leaves", "sleep 1000 & echo $! > left.pid; : > here", STAY);
    const { launching, before } = await giveUpAt({ ...withBinary(leaves), clock }, "here");
    const outcome = await launching;
    const workdir = outcome.kind === "failed" ? (outcome.failure.started?.workdir ?? "") : "";
    // That process is the child's affair; the parent closes the pipes a while after the child has ended.
    const left = Number(readFileSync(join(workdir, "left.pid"), "utf8"));
    expect(process.kill(left, 0)).toBe(true);
    await until("both pipes are about to be let go of", () => clock.waiting() === 2);
    await clock.advance(5_000);
    await leavesNothing(outcome, before);
    process.kill(left, "SIGKILL");
  });

  test("registers, only the approval's own minute remains", async () => {
    // The child's daemon takes its connection and answers nothing.
    const held = await rawServer(() => {});
    const url = parseRoostUrl(held.url);
    if (!url.ok) throw new Error(url.fault);
    // A session of its own: what the others left for a minute would run out meanwhile.
    const by = await openParent(world(), parent().binary);
    const { client, credential } = by.session.registration;
    const environment = { ...by.environment, CHILD_MODE: "agent" };
    const registration = { client: { ...client, url: url.value }, credential };
    const before = standing(by);
    const giveUp = new AbortController();
    const launching = launch(
      { ...by.session, environment, registration },
      { ...asked, signal: giveUp.signal },
    );
    await until("it registers", () => held.received().includes("POST /register"));
    giveUp.abort();
    const outcome = await launching;
    expect(processes(by)).toEqual([]);
    await held.close();
    await leavesNothing(outcome, before, by);
    expect(await reservations(by)).toBe(1);
  });
});
