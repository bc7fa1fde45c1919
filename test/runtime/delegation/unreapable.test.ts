/** Children that a debugger holds: not even SIGKILL lets their parent reap them, and nothing waits for that. */

import { beforeEach, describe, expect, test } from "bun:test";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import { recordOf, started } from "./driving.ts";
import { turns } from "./played.ts";
import { sharedHost } from "./shared-host.ts";
import { canTrace, type Tracer, trace } from "./tracer.ts";

const tracing = await canTrace();
/** `lifecycle.delegation_deadline_secs` where it is not set. */
const WATCH_MS = 600_000;

const host = sharedHost();
beforeEach(() => void host().trace());

/** How many have been held. */
let traced = 0;

/** Takes hold of the one process beneath the session. */
async function hold(): Promise<Tracer & { readonly pid: number }> {
  const said = () => host().written().split("traceable from here on").length - 1;
  await until("it may be traced", () => said() > traced);
  traced = said();
  const [pid = 0] = processesOf(host().session.id);
  const tracer = await trace(pid);
  expect(tracer.held).toBe(true);
  return { ...tracer, pid };
}

const closed = () =>
  host()
    .trace()
    .filter(({ event }) => event === "delegation");

describe.skipIf(!tracing)("within the grace and a second", () => {
  test("a cancel returns, and the recorded reason is the cancel", async () => {
    const { clock, task } = host().clocked();
    const child = await started(task, "traceable");
    const tracer = await hold();
    const canceling = task.cancel();
    await turns();
    await clock.advance(5_000);
    await clock.advance(1_000);
    expect(await canceling).toEqual({ delegations: [child.delegation_id] });
    expect(closed()).toMatchObject([
      {
        outcome: "terminated",
        reason: "the delegating task was cancelled",
        child_session_id: child.session_id,
      },
    ]);
    expect(recordOf(host().world.home, child)).toMatchObject({
      status: "terminated",
      detail: "the parent ended this delegation",
    });
    expect(host().written()).toContain(`pid ${tracer.pid} could not be reaped`);
    await tracer.end();
  });

  test("a plan's step that is past its bound returns", async () => {
    const clock = manualClock(Date.now());
    const asked = { ...coordinates("local/worker"), task: "traceable", contextId: "ctx_1" };
    const step = { ...asked, signal: new AbortController().signal };
    const running = runCapsuleStep({ ...host().session, clock }, step);
    const tracer = await hold();
    await clock.advance(WATCH_MS);
    let over = false;
    void running.then(() => {
      over = true;
    });
    await until("it has returned", async () => {
      await clock.advance(100);
      return over;
    });
    expect(await running).toMatchObject({ kind: "timed_out" });
    expect(closed()).toMatchObject([{ outcome: "timed_out" }]);
    await tracer.end();
  });

  test("a call that is given up fails", async () => {
    const { clock } = host().clocked();
    const giveUp = new AbortController();
    let tracer: Awaited<ReturnType<typeof hold>> | undefined;
    const task = host().task({
      session: { ...host().session, clock },
      async deliver(delivery, ...more) {
        const { deliverTask } = await import("../../../src/runtime/delegation/hand-over.ts");
        await deliverTask(delivery, ...more);
        tracer = await hold();
        giveUp.abort();
        return { ok: false, fault: "the call was given up" };
      },
    });
    const call = task.call({ capsule: "worker", version: "0.1.0", task: "traceable" }, giveUp.signal);
    await until("it is held", () => tracer !== undefined && clock.waiting() > 0);
    await until("it is being ended", async () => {
      await clock.advance(100);
      return host().written().includes(`pid ${tracer?.pid} could not be reaped`);
    });
    expect(await call).toMatchObject({ kind: "failed", text: expect.stringContaining("given up") });
    await tracer?.end();
  });
});
