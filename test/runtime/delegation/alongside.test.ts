/** A task that waits for calls of its members at the same time, and one that goes on more than once. */

import { beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AlongsideWait, Settlement } from "../../../src/runtime/index.ts";
import { until } from "../../kit/until.ts";
import { blocksOf, continued, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();
beforeEach(() => void host().trace());

/** One call of a member, until it is answered. */
function memberCall(): AlongsideWait & { answer(): void } {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let answered = false;
  return {
    waiting: () => (answered ? undefined : "waiting on call-member: 1 call(s) outstanding"),
    continuing: () => (answered ? "continuing with 1 call-member outcome(s)" : undefined),
    done,
    answer() {
      answered = true;
      resolve();
    },
  };
}

const finished = { kind: "finished", turnsLeft: 1 } as const;
const continuations = () =>
  host()
    .trace()
    .filter(({ event }) => event === "task_continued");

test("both are waited for together, their statuses joined, and one continuation reports both", async () => {
  const task = host().task();
  const gates = ["first", "second"].map((name) => join(host().world.home, `gate-${name}`));
  const children = await Promise.all(gates.map((gate) => started(task, `when:${gate}`)));
  const ids = children.map(({ delegation_id }) => delegation_id).sort();
  const member = memberCall();
  const said: string[] = [];
  let settled: Settlement | undefined;
  const settling = task
    .settle(finished, (status) => said.push(status), member)
    .then((settlement) => {
      settled = settlement;
      return settlement;
    });
  writeFileSync(gates[0] ?? "", "");
  await until("the first has ended", () => task.inFlight().length === 1);
  writeFileSync(gates[1] ?? "", "");
  await until("the second has ended", () => task.inFlight().length === 0);
  expect(settled).toBeUndefined();
  member.answer();
  expect(await settling).toMatchObject({ kind: "continue", delegations: ids });
  expect(said).toEqual([
    "waiting on delegate-task: 2 delegation(s) outstanding; waiting on call-member: 1 call(s) outstanding",
    "waiting on delegate-task: 1 delegation(s) outstanding; waiting on call-member: 1 call(s) outstanding",
    "continuing with 2 delegation outcome(s); continuing with 1 call-member outcome(s)",
  ]);
  expect(continuations()).toMatchObject([{ delegations: ids }]);

  // A task that delegates again continues again, with that round alone.
  const again = await started(task, "say:again");
  expect(blocksOf((await continued(task)).text)).toMatchObject([
    { delegationId: again.delegation_id, body: expect.stringContaining("\nresult:\nagain") },
  ]);
  expect(await task.settle(finished, () => {})).toEqual({ kind: "done" });
  expect(continuations()).toMatchObject([{ delegations: [again.delegation_id] }]);
});

test("a call alone is waited for, and continues the task without a block", async () => {
  const task = host().task();
  const member = memberCall();
  const said: string[] = [];
  const settling = task.settle(finished, (status) => said.push(status), member);
  await until("it waits", () => said.length === 1);
  member.answer();
  expect(await settling).toEqual({ kind: "continue", text: "", delegations: [] });
  expect(said).toEqual([
    "waiting on call-member: 1 call(s) outstanding",
    "continuing with 1 call-member outcome(s)",
  ]);
  expect(continuations()).toMatchObject([{ delegations: [] }]);
});
