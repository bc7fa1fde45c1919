import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCapsuleStep } from "../../../src/runtime/delegation/capsule-step.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { childBinary } from "../world.ts";
import { sharedHost } from "./shared-host.ts";
import { records, STAY, says } from "./shell-child.ts";
import { stepsOf, WORKER } from "./steps.ts";

const host = sharedHost();
const { left, step, traced, withChild, withEnvironment } = stepsOf(host);

const liveChildren = async () => {
  const answer = await host().session.registration.client.status(host().session.id);
  return answer.kind === "granted" ? answer.value.live_children : answer;
};

describe("a step that completes", () => {
  test("returns the child's answer; the child has exited, retired, and kept its own record", async () => {
    const before = await liveChildren();
    expect(await runCapsuleStep(host().session, step("say:an answer"))).toEqual({
      kind: "completed",
      text: "an answer",
      sentence: `capsule step ${WORKER} (bound: 600s) completed`,
    });
    expect(left()).toEqual([]);
    expect(await liveChildren()).toEqual(before);
    const { close, session, record } = traced();
    expect(close).toMatchObject({ event: "delegation", outcome: "completed", reason: null });
    expect(await host().session.registration.client.status(session)).toMatchObject({
      value: { status: "complete" },
    });
    // It was given no address to report to.
    expect(record).toMatchObject({ status: "ok", reported_by: "child", delivered: false });
    expect(record.delivery_error).toBeUndefined();
  });

  test.each([70_000, 10_000_000])("returns the whole answer of %i bytes", async (size) => {
    const { kind, text } = await runCapsuleStep(host().session, step(`bytes:${size}`));
    expect(kind).toBe("completed");
    expect(text.length).toBe(size);
    expect(text).toBe("a".repeat(size));
    // No full copy is needed there, because nothing was cut.
    expect(existsSync(join(host().session.directories.runtime.path, "delegations"))).toBe(false);
  });

  test("returns an answer as it was written, also where a cut would fall inside a character", async () => {
    const text = `${"é".repeat(40_000)}\n😀`;
    expect(await runCapsuleStep(host().session, step(`say:${text}`))).toMatchObject({ text });
  });

  test("without a signal does the same", async () => {
    const { signal: _, ...unsignaled } = step("say:an answer");
    const outcome = await runCapsuleStep(host().session, unsignaled);
    expect(outcome).toMatchObject({ kind: "completed", text: "an answer" });
    expect(left()).toEqual([]);
    expect(traced().close).toMatchObject({ outcome: "completed" });
  });

  test("with an empty answer returns an empty text", async () => {
    expect(await runCapsuleStep(host().session, step("nothing"))).toMatchObject({
      kind: "completed",
      text: "",
    });
  });
});

describe("a script in a step", () => {
  const answer = "mkdir out; printf 'the answer of a script' > out/result.txt";

  test.each<[string, string[]]>([
    ["ends with status 0", [answer, says("")]],
    ["has recorded that all went well, whatever its status", [answer, records("ok"), says(""), "exit 7"]],
  ])("has completed where it %s: its answer is in its work folder", async (_, lines) => {
    const session = withChild("script", 'printf %s "$MURMUR_SPAWNER" > spawner.json', ...lines);
    expect(await runCapsuleStep(session, step("no script is told a task"))).toEqual({
      kind: "completed",
      text: "the answer of a script",
      sentence: `capsule step ${WORKER} (bound: 600s) completed`,
    });
    const { close, workdir, record } = traced();
    expect(close).toMatchObject({ outcome: "completed", reason: null });
    expect(record?.reported_by).not.toBe("launcher");
    const handle = JSON.parse(readFileSync(join(workdir, "spawner.json"), "utf8"));
    expect(Object.keys(handle).sort()).toEqual(["context_id", "delegation_id", "session_id"]);
    expect(left()).toEqual([]);
  });

  test.each([
    ["complete", "completed", "ok"],
    ["failed", "failed", "error"],
  ])("that closes its session as %s has %s, and has recorded it itself", async (outcome, kind, status) => {
    const MURMUR_MUR_BINARY = await childBinary();
    const session = withEnvironment({ MURMUR_MUR_BINARY, CHILD_MODE: `closing-script:${outcome}` });
    const result = await runCapsuleStep(session, step("no script is told a task"));
    expect(result.kind).toBe(kind as typeof result.kind);
    const { record, workdir } = traced();
    const result_path = join(workdir, "out/result.txt");
    expect(record).toMatchObject({ status, reported_by: "child", delivered: false, result_path });
  });

  test.each<[string, string[], string, object]>([
    [
      "a status that is not 0",
      [says(""), "echo no such file >&2", "exit 4"],
      `the run of ${WORKER} failed, exit status: 4`,
      { status: "crashed", reported_by: "launcher", detail: "exit status: 4\nno such file" },
    ],
    [
      "a signal",
      [says(""), "kill -9 $$"],
      `the run of ${WORKER} failed, signal: 9 (SIGKILL)`,
      { status: "crashed", detail: "signal: 9 (SIGKILL)" },
    ],
    [
      "a record of an error, whatever its status",
      [records("error"), says("")],
      `the run of ${WORKER} ended error\nits detail:\n<untrusted-content source=delegation:worker>\nits own words\n</untrusted-content>`,
      { status: "error", detail: "its own words" },
    ],
  ])("has failed with %s", async (_, lines, text, recorded) => {
    const outcome = await runCapsuleStep(withChild("script", answer, ...lines), step("x"));
    expect(outcome).toEqual({
      kind: "failed",
      text,
      // A line of a log holds the launcher's words alone.
      sentence: `capsule step ${WORKER} (bound: 600s) failed: ${text.split("\n")[0]}`,
    });
    const { close, record } = traced();
    expect(close).toMatchObject({ outcome: "failed", reason: text });
    expect(record).toMatchObject(recorded);
  });

  test("that does not end has failed: it bound no address", async () => {
    const clock = manualClock(Date.now());
    const session = { ...withChild("script", says(""), STAY), clock };
    const running = runCapsuleStep(session, step("x"));
    await until("it is ready", () => host().trace().length > 0);
    await clock.advance(5_000);
    const outcome = await running;
    expect(outcome).toMatchObject({ kind: "failed", text: expect.stringContaining("bound no address") });
    expect(left()).toEqual([]);
  });
});
