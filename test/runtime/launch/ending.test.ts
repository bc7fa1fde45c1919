import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRoostClient, endAll, launch, parseRoostUrl } from "../../../src/runtime/index.ts";
import { endAfterTest } from "../../kit/end-after-test.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { rawServer } from "../../kit/raw-server.ts";
import { until } from "../../kit/until.ts";
import { coordinates, sharedParent } from "../parent.ts";
import { processesOf, runArguments } from "../world.ts";

const { world, parent } = sharedParent();

describe("ending a child", () => {
  test("gives it time to wind down: its session is retired, and it chooses its exit status", async () => {
    const child = await parent().launched("agent");
    await endAll([child], patientClock);
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    const status = await parent().session.registration.client.status(child.sessionId);
    expect(status).toMatchObject({ value: { status: "complete", live_children: 0 } });
    // An end by SIGTERM does not count as an end of the spawner.
    if (!child.records.ok) throw new Error(child.records.fault);
    expect(existsSync(join(child.records.value.path, "trace.jsonl"))).toBe(false);
  });

  test("kills the children that do not exit, all within one grace period", async () => {
    const clock = manualClock(Date.now());
    const stubborn = await Promise.all([1, 2, 3].map(() => parent().launched("ignores-sigterm")));
    const willing = await parent().launched("agent");
    const ending = endAll([...stubborn, willing], clock);
    await willing.exited;
    await clock.advance(4_999);
    expect(processesOf(world().workdir)).toHaveLength(3);
    await clock.advance(1);
    await ending;
    for (const child of stubborn) {
      expect(await child.exited).toEqual({ kind: "signaled", signal: "SIGKILL", number: 9 });
    }
    expect(await willing.exited).toEqual({ kind: "exited", status: 0 });
    await until("no timer is left", () => clock.waiting() === 0);
  });

  test("takes 3 s instead of 5 if this process itself is being ended, before or meanwhile", async () => {
    const clock = manualClock(Date.now());
    const [one, other] = await Promise.all([1, 2].map(() => parent().launched("ignores-sigterm")));
    if (!one || !other) throw new Error("not launched");
    const hurry = new AbortController();
    const meanwhile = endAll([one], clock, hurry.signal);
    hurry.abort();
    const before = endAll([other], clock, hurry.signal);
    await clock.advance(2_999);
    expect(processesOf(world().workdir)).toHaveLength(2);
    await clock.advance(1);
    await Promise.all([meanwhile, before]);
    expect(await one.exited).toMatchObject({ signal: "SIGKILL" });
    await until("no timer is left", () => clock.waiting() === 0);
  });

  test("makes a script give back its slot at the daemon", async () => {
    const { client } = parent().session.registration;
    const before = await client.status(parent().session.id);
    const scripts = await Promise.all([1, 2, 3, 4].map(() => parent().launched("long-script")));
    await endAll(scripts, patientClock);
    for (const script of scripts) {
      expect(await script.exited).toEqual({ kind: "exited", status: 143 });
      expect(await client.status(script.sessionId)).toMatchObject({ value: { status: "failed" } });
      script.release();
    }
    expect(await client.status(parent().session.id)).toMatchObject(before);
  });

  test("does not change the outcome of one that has exited, and may be requested twice", async () => {
    const child = await parent().launched("script");
    await child.exited;
    await Promise.all([endAll([child], patientClock), endAll([child], patientClock)]);
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
  });

  test.each([
    ["before it is asked for", "agent", () => true],
    ["while the child says nothing", "silent", () => processesOf(world().workdir).length > 0],
  ])("stops a launch at once if the launch is aborted %s", async (_, mode, when) => {
    const giveUp = new AbortController();
    const outcome = parent().launch(mode, { signal: giveUp.signal });
    await until("the moment to give up", when);
    giveUp.abort();
    expect(await outcome).toMatchObject({ kind: "failed", failure: { cause: "canceled" } });
    expect(processesOf(world().workdir)).toEqual([]);
  });

  test("stops a launch at once if it is aborted before the daemon has answered", async () => {
    const daemon = await rawServer(() => {});
    const url = parseRoostUrl(daemon.url);
    if (!url.ok) throw new Error(url.fault);
    const { credential } = parent().session.registration;
    const registration = { client: createRoostClient(url.value), credential };
    const giveUp = new AbortController();
    const before = parent().children();
    const outcome = launch(
      { ...parent().session, registration },
      { ...coordinates("local/worker"), contextId: "ctx_test", signal: giveUp.signal },
    );
    await until("the daemon is asked", () => daemon.received().includes("0.1.0"));
    giveUp.abort();
    expect(await outcome).toMatchObject({ kind: "failed", failure: { cause: "canceled" } });
    expect(parent().children()).toEqual(before);
    await daemon.close();
  });
});

describe("a child ends with its parent", () => {
  /** A parent in a process of its own, once it is ready. */
  async function startTop(mode: string) {
    const top = Bun.spawn([parent().binary, ...runArguments(world().workdir)], {
      env: {
        PATH: process.env.PATH,
        HOME: world().home,
        MURMUR_ROOST_URL: world().roostUrl,
        CHILD_MODE: mode,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    endAfterTest(top);
    const ready = top.stdout.pipeThrough(new TextDecoderStream()).getReader();
    expect((await ready.read()).value).toContain('"session_id"');
    return top;
  }

  test("in a chain whose top is killed, from the top down", async () => {
    await world().publish("local/parent", "spawn: {allow: [local/worker]}, env: {allow: [CHILD_MODE]}");
    await world().publish("local/worker", "spawn: {allow: [local/worker]}, env: {allow: [CHILD_MODE]}");
    writeFileSync(join(world().home, "levels"), "2");
    const top = await startTop("chain");
    expect(processesOf(world().workdir)).toHaveLength(3);
    top.kill("SIGKILL");
    await until("every descendant is gone", () => processesOf(world().workdir).length === 0);
    const records = Bun.spawnSync(["find", join(world().home, ".murmur", "records"), "-name", "trace.jsonl"]);
    const traces = records.stdout.toString().trim().split("\n");
    expect(traces).toHaveLength(2);
    for (const trace of traces) {
      expect(readFileSync(trace, "utf8")).toBe('{"event":"spawner_ended"}\n');
      // Its standard error was a pipe to a parent that is gone.
      const log = readFileSync(join(trace, "..", "logs", "bootstrap.log"), "utf8");
      expect(log).toBe("the spawner has ended\n");
    }
    rmSync(join(world().home, "levels"));
  });

  test("even if it is a script that is computing", async () => {
    const top = await startTop("long-script:busy");
    expect(processesOf(world().workdir)).toHaveLength(3);
    top.kill("SIGKILL");
    await until("every child is gone", () => processesOf(world().workdir).length === 0);
  });

  test("and so does each of several siblings, even if the others live", async () => {
    writeFileSync(join(world().home, "levels"), "0");
    const top = await startTop("siblings");
    expect(processesOf(world().workdir)).toHaveLength(5);
    top.kill("SIGKILL");
    await until("every child is gone", () => processesOf(world().workdir).length === 0);
  });
});
