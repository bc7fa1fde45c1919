/** A step whose child left a record or a result that cannot be read. */

import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import type { WatchedChild } from "../../../src/runtime/delegation/child.ts";
import { seeChild } from "../../../src/runtime/delegation/step-answer.ts";
import type { Clock } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { noDescriptors, TOO_MANY } from "../../kit/no-descriptors.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { rawServers, reply } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { scratch } from "./kit.ts";
import { turns } from "./played.ts";
import { CLEAN, playedChild } from "./played-child.ts";
import { sharedHost } from "./shared-host.ts";
import { STAY, says } from "./shell-child.ts";
import { stepsOf } from "./steps.ts";

const host = sharedHost();
const { step, withChild } = stepsOf(host);
const serve = rawServers();

test("a script's step has failed: its exit status alone does not say that it completed", async () => {
  const clock = manualClock();
  const child = playedChild(scratch(), 0, { launched: { door: undefined } });
  child.writes({ status: "error", detail: "no luck" });
  const watched = { session: { clock }, child: child.launched, watchSecs: 20 } as unknown as WatchedChild;
  const give = noDescriptors();
  const seen = seeChild(watched, "", new AbortController().signal);
  child.leave(CLEAN);
  await turns();
  await clock.advance(3_000).finally(give);
  expect(await seen).toEqual({
    kind: "failed",
    text: `the completion.json of local/worker@0.1.0 could not be read: ${TOO_MANY}`,
  });
  child.launched.release();
});

test("an agent's result is read once there is a descriptor for the directory that it made late", async () => {
  const [gate, made] = ["gate-of-the-late", "made-late"].map((name) => join(host().world.home, name));
  if (!gate || !made) throw new Error("no paths");
  let give = () => {};
  let asked = 0;
  const task = (state: string) => ({ id: "tsk_1", status: { state } });
  const door = await serve(async (socket) => {
    if (asked++ === 0) {
      mkdirSync(gate);
      return reply(200, JSON.stringify({ result: { task: task("TASK_STATE_WORKING") } }))(socket);
    }
    await until("the result is there", () => existsSync(made));
    give = noDescriptors();
    reply(200, JSON.stringify({ result: task("TASK_STATE_COMPLETED") }))(socket);
  });
  const session = withChild(
    "late",
    'rm -r "$records"',
    says(`127.0.0.1:${door.port}`),
    `while [ ! -e '${gate}' ]; do sleep 0.01; done`,
    `mkdir -p "$records/out"; printf late > "$records/out/result.txt"; mkdir '${made}'`,
    STAY,
  );
  const clock: Clock = {
    ...patientClock,
    after(ms, callback) {
      // Not the child's grace, but the pause before the next try.
      if (ms === 100) give();
      return patientClock.after(ms, callback);
    },
  };
  const outcome = await runCapsuleStep({ ...session, clock }, step("x")).finally(() => give());
  expect(outcome).toMatchObject({ kind: "completed", text: "late" });
});
