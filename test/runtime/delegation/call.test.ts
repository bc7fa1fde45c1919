import { describe, expect, test } from "bun:test";
import { FINISHED, playedTask, turns } from "./played.ts";
import { CLEAN } from "./played-child.ts";

describe("a call", () => {
  test("that starts a child returns exactly this object, and the trace has its two lines", async () => {
    const played = playedTask();
    const copy = { source: "/project", files: 2 } as never;
    const child = played.child({ launched: { copy } });
    const result = await played.call();
    const workdir = child.launched.workdir.path;
    expect(result).toEqual({
      kind: "started",
      text: `{"delegation_id":"dlg_0","session_id":"ses_0","capsule":"worker","version":"0.1.0","status":"started","child_workdir":"${workdir}"}`,
    });
    expect(played.trace()).toEqual([
      {
        event: "delegation_start",
        at_ms: expect.any(Number),
        session_id: "ses_parent",
        delegation_id: "dlg_0",
        capsule: "worker",
        version: "0.1.0",
        child_session_id: "ses_0",
        child_workdir: workdir,
        workdir_snapshot: copy,
      },
    ]);
    expect(played.asked).toMatchObject([
      {
        name: "local/worker",
        version: "0.1.0",
        contextId: "ctx_1",
        completionDoor: new URL("http://127.0.0.1:9"),
      },
    ]);
  });

  test("has failed if a launch of the program's own throws, and the operator is told", async () => {
    const played = playedTask({
      async launch(_, { onStarted }) {
        onStarted?.("dlg_begun");
        throw new Error("no such host");
      },
    });
    const result = await played.call();
    expect(result.kind).toBe("failed");
    expect(JSON.parse(result.text)).toMatchObject({
      delegation_id: "dlg_begun",
      output: "could not launch local/worker@0.1.0: no such host",
    });
    expect(played.trace()).toMatchObject([
      { event: "delegation", delegation_id: "dlg_begun", outcome: "failed" },
    ]);
    expect(played.diagnosed).toEqual(["warning: launch failed: no such host"]);
  });

  test("that fails before a child is launched returns empty ids and no place", async () => {
    const message = "could not launch local/worker@0.1.0: no pipe for its lifeline";
    const launch = async () => ({ kind: "failed", failure: { cause: "lifeline", message } }) as const;
    const played = playedTask({ launch });
    expect(await played.call()).toEqual({
      kind: "failed",
      text: JSON.stringify({
        delegation_id: "",
        session_id: "",
        capsule: "worker",
        version: "0.1.0",
        status: "failed",
        output: message,
      }),
    });
    expect(played.trace()).toMatchObject([
      {
        event: "delegation",
        delegation_id: null,
        child_session_id: null,
        outcome: "failed",
        reason: message,
      },
    ]);
  });

  test("that fails after its process was started names the delegation", async () => {
    const started = { delegationId: "dlg_7", workdir: "/work" };
    const launch = async () =>
      ({ kind: "failed", failure: { cause: "silent", message: "silent", started } }) as const;
    const played = playedTask({ launch });
    expect(JSON.parse((await played.call()).text)).toMatchObject({ delegation_id: "dlg_7", session_id: "" });
    expect(played.trace()).toMatchObject([{ delegation_id: "dlg_7", child_session_id: null }]);
  });

  test("has a failure reason of at most 64 KiB, marked where it was cut", async () => {
    const message = "é".repeat(100_000);
    const launch = async () => ({ kind: "failed", failure: { cause: "ended", message } }) as const;
    const { output } = JSON.parse((await playedTask({ launch }).call()).text);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(64 * 1024);
    expect(output).toMatch(/^é+ \[…\]$/);
    expect(Buffer.byteLength(output)).toBeGreaterThan(64 * 1024 - 4);
  });

  test("fails if the child bound no address, and the child is ended", async () => {
    const played = playedTask();
    const child = played.child({ launched: { door: undefined } });
    expect(JSON.parse((await played.call()).text)).toMatchObject({
      delegation_id: "dlg_0",
      session_id: "ses_0",
      status: "failed",
      output: "worker@0.1.0 did not take its task: it bound no address",
    });
    expect(child.signals).toEqual(["SIGTERM"]);
    expect(played.closes()).toMatchObject([{ outcome: "failed" }]);
  });

  test.each<[string, unknown, string, string]>([
    ["a capsule that is not granted", { capsule: "king", version: "0.1.0", task: "x" }, "king", "0.1.0"],
    ["a full name", { capsule: "local/worker", version: "0.1.0", task: "x" }, "local/worker", "0.1.0"],
    ["no version", { capsule: "worker", version: "..", task: "x" }, "worker", ".."],
    ["no task", { capsule: "worker", version: "0.1.0" }, "worker", "0.1.0"],
    ["no strings", { capsule: ["worker"], version: 1 }, "", ""],
    ["no object", "worker", "", ""],
    ["a name without end", { capsule: "k".repeat(1_000_000), version: "1" }, `${"k".repeat(256)} […]`, "1"],
  ])(
    "with %s is refused with a sentence, and has its line in the trace",
    async (_, given, capsule, version) => {
      const { task, trace } = playedTask();
      const result = await task.call(given);
      expect(result.kind).toBe("refused");
      expect(result.text).not.toStartWith("{");
      expect(trace()).toMatchObject([
        {
          event: "delegation",
          capsule,
          version,
          delegation_id: null,
          child_session_id: null,
          duration_ms: 0,
          outcome: "refused",
          reason: result.text,
        },
      ]);
    },
  );

  test("of a task that has ended fails, in the trace too", async () => {
    const played = playedTask();
    await played.task.settle({ kind: "ended", exitStatus: "error" }, () => {});
    expect((await played.call()).kind).toBe("failed");
    expect(played.closes()).toEqual([{ outcome: "failed", reason: "the delegating task has ended" }]);
  });

  test("that is aborted alone ends its own child and no other", async () => {
    const deliver: Parameters<typeof playedTask>[0] = {
      deliver: async ({ delegationId, signal }) => {
        if (delegationId === "dlg_0") return { ok: true, value: "tsk_child" };
        await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
        return { ok: false, fault: "the call was given up" };
      },
    };
    const played = playedTask(deliver);
    const running = await played.start();
    const child = played.child();
    const giveUp = new AbortController();
    const calling = played.task.call({ capsule: "worker", version: "0.1.0", task: "x" }, giveUp.signal);
    await turns();
    expect(played.task.inFlight()).toEqual(["dlg_0", "dlg_1"]);
    giveUp.abort();
    expect(JSON.parse((await calling).text)).toMatchObject({ delegation_id: "dlg_1", status: "failed" });
    expect([running.gone(), child.gone()]).toEqual([false, true]);
    expect(played.task.inFlight()).toEqual(["dlg_0"]);
    // Once it has started a delegation, a call can no longer be given up.
    running.writes();
    played.post(running);
    running.leave(CLEAN);
    expect(await played.task.settle(FINISHED, () => {})).toMatchObject({ kind: "continue" });
  });
});
