/** Children that do not exit: one that has reported, and one that nothing can end. */

import { beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../kit/until.ts";
import { processesOf } from "../world.ts";
import { blocksOf, continued, misdeed, recordOf, recordsOf, started } from "./driving.ts";
import { sharedHost } from "./shared-host.ts";
import { canTrace, trace } from "./tracer.ts";

const tracing = await canTrace();
/** `lifecycle.delegation_deadline_secs` where it is not set. */
const WATCH_MS = 600_000;

const host = sharedHost();
beforeEach(() => void host().trace());

const leavings = ["stay", "spoil"] as const;
test.each(leavings)(
  "a child that has reported and does not exit (%s) is ended, and its answer is kept",
  async (lastly) => {
    const { clock, task } = host().clocked();
    const child = await started(
      task,
      misdeed({
        result: { kind: "file", text: "an answer" },
        record: { delivered: true },
        post: true,
        stderr: `reported, to ${lastly}\n`,
        lastly,
      }),
    );
    const settling = continued(task);
    await until("it has reported", () => host().written().includes(`reported, to ${lastly}\n`));
    // Its time to go by itself, and the time of its end.
    await clock.advance(5_000);
    const record = join(recordsOf(host().world.home, child), "completion.json");
    const spoilt = () => readFileSync(record, "utf8") === "spoilt";
    if (lastly === "spoil") await until("it has spoilt its record", spoilt);
    await clock.advance(5_000);
    const [block] = blocksOf((await settling).text);
    expect(block).toMatchObject({ status: "ok", body: expect.stringContaining("\nresult:\nan answer") });
    expect(recordOf(host().world.home, child)).toMatchObject({ status: "ok", delivered: true });
    expect(processesOf(child.child_workdir)).toEqual([]);
  },
);

test.skipIf(!tracing)(
  "a child that cannot be reaped is closed a second after SIGKILL, with its own reason",
  async () => {
    const { clock, task } = host().clocked();
    const child = await started(task, "traceable");
    const [pid = 0] = processesOf(child.child_workdir);
    const tracer = await trace(pid);
    expect(tracer.held).toBe(true);
    const settling = continued(task);
    await clock.advance(WATCH_MS + 5_000);
    await clock.advance(999);
    expect(task.inFlight()).toEqual([child.delegation_id]);
    await clock.advance(1);
    // A process that it started may still hold its standard error.
    await clock.advance(5_000);
    const { text } = await settling;
    const reason =
      "still running at its deadline of 600s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)";
    const [block, ...more] = blocksOf(text);
    expect(more).toEqual([]);
    expect(block).toMatchObject({
      delegationId: child.delegation_id,
      status: "terminated",
      body: expect.stringContaining(
        `\ndetail: ${reason}\n  exit status: unknown, pid ${pid} could not be reaped`,
      ),
    });
    expect(recordOf(host().world.home, child)).toMatchObject({
      status: "terminated",
      reported_by: "launcher",
    });
    const closed = () =>
      host()
        .trace()
        .filter(({ event }) => event === "delegation");
    expect(closed()).toMatchObject([{ outcome: "terminated", reason }]);
    expect(host().written()).toContain(`pid ${pid} could not be reaped`);
    // Its process ending at last does not close it a second time.
    await tracer.end();
    await until("every timer is gone", () => clock.waiting() === 0);
    expect(closed()).toEqual([]);
    expect(recordOf(host().world.home, child)).toMatchObject({ status: "terminated", delivered: true });
  },
);

test.skipIf(!tracing)(
  "the answer of a child that has reported is kept, even if SIGKILL does not end the child",
  async () => {
    const { clock, task } = host().clocked();
    const answer = { kind: "file", text: "an answer" } as const;
    const child = await started(
      task,
      misdeed({ result: answer, record: { delivered: true }, lastly: "stay" }),
    );
    const record = join(recordsOf(host().world.home, child), "completion.json");
    await until("it has reported", () => existsSync(record));
    const [pid] = processesOf(child.child_workdir);
    const tracer = await trace(pid ?? 0);
    expect(tracer.held).toBe(true);
    const left = readFileSync(record, "utf8");
    host().door.receive({
      addressedSession: host().session.id,
      method: "SendMessage",
      delegationId: child.delegation_id,
    });
    const settling = continued(task);
    await clock.advance(WATCH_MS + 30_000);
    expect(blocksOf((await settling).text)).toMatchObject([
      { status: "ok", body: expect.stringContaining("\nresult:\nan answer") },
    ]);
    await tracer.end();
    await until("every timer is gone", () => clock.waiting() === 0);
    expect(readFileSync(record, "utf8")).toBe(left);
    const closed = host()
      .trace()
      .filter(({ event }) => event === "delegation");
    expect(closed).toMatchObject([{ delegation_id: child.delegation_id, outcome: "ok", reason: null }]);
  },
);
