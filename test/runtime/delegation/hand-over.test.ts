import { describe, expect, test } from "bun:test";
import { playedTask, settled, turns, WATCH_SECS } from "./played.ts";
import { CLEAN } from "./played-child.ts";

describe("a child that never accepts its task", () => {
  /** Delivers nothing until it is given up, as a door that does not listen. */
  const undelivered = playedTask.bind(null, {
    deliver: async ({ signal, gone }) => {
      const over = AbortSignal.any([signal, ...(gone ? [gone] : [])]);
      await new Promise<void>((stop) => over.addEventListener("abort", () => stop()));
      return { ok: false, fault: "nobody listens" };
    },
  });

  test("is recorded as ended by its launcher, whatever it records while it is ended", async () => {
    const played = playedTask({ deliver: async () => ({ ok: false, fault: "it rejected the task" }) });
    const child = await played.start({
      onSignal: (_, self) => {
        self.writes({ status: "error", detail: "its own words" });
        self.leave(CLEAN);
      },
    });
    expect(child.record()).toMatchObject({
      status: "terminated",
      detail: "the parent ended this delegation",
      reported_by: "launcher",
      delivered: false,
    });
    expect(child.released()).toBe(true);
    expect(played.post(child)).toMatchObject({
      error: { message: "no task in this session is waiting for delegation dlg_0" },
    });
  });

  test("and ended by itself has crashed, according to both its record and the call's result", async () => {
    const played = undelivered();
    const child = played.child();
    const calling = played.call();
    await turns();
    child.leave({ kind: "exited", status: 1 });
    await turns();
    const { text } = await calling;
    expect(JSON.parse(text).output).toBe(
      "worker@0.1.0 did not take its task: it ended before, exit status: 1\nlast lines of its standard error:\n<untrusted-content source=delegation:worker>\na last line\n</untrusted-content>",
    );
    expect(child.record()).toMatchObject({ status: "crashed", detail: "exit status: 1\na last line" });
    expect(child.signals).toEqual([]);
  });

  test("counts as having accepted it if it ended while its door's answer was arriving", async () => {
    const answer = Promise.withResolvers<{ ok: true; value: string }>();
    const played = playedTask({ deliver: () => answer.promise });
    const child = played.child();
    const calling = played.call();
    await turns();
    child.leave({ kind: "exited", status: 3 });
    await turns();
    answer.resolve({ ok: true, value: "tsk_child" });
    expect((await calling).kind).toBe("started");
    expect(await settled(played)).toContain("ended crashed:");
    expect(child.record()).toMatchObject({ status: "crashed", delivered: true });
  });

  test("is not waited for once it has ended, even if something keeps its door open", async () => {
    const played = playedTask({
      deliver: async ({ signal }) => {
        await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
        return { ok: false, fault: "the call was given up" };
      },
    });
    const child = played.child();
    const calling = played.call();
    await turns();
    child.leave({ kind: "exited", status: 3 });
    await turns();
    await played.clock.advance(1_000);
    expect(JSON.parse((await calling).text).output).toContain("it ended before, exit status: 3");
    expect(played.clock.waiting()).toBe(0);
  });

  test("within its watch is ended when the watch is over, even if its door is still tried", async () => {
    const played = undelivered();
    const child = played.child();
    const calling = played.call();
    await turns();
    await played.clock.advance(WATCH_SECS * 1_000 - 1);
    expect(child.signals).toEqual([]);
    await played.clock.advance(1);
    const { text } = await calling;
    const reason = `still running at its deadline of ${WATCH_SECS}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
    expect(JSON.parse(text).output).toBe(`worker@0.1.0 did not take its task: ${reason}`);
    expect(child.record()).toMatchObject({
      status: "terminated",
      reported_by: "launcher",
      detail: `${reason}\nexit status: 0\na last line`,
    });
    expect(played.clock.waiting()).toBe(0);
  });
});
