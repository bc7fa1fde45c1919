import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { endAll, parseArtifactName, parseDoorUrl } from "../../../src/runtime/index.ts";
import { publishCapsule } from "../../kit/host.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { until } from "../../kit/until.ts";
import { coordinates, openParent, sharedParent, WORKER } from "../parent.ts";
import { createWorld, processesOf, ROOMY } from "../world.ts";

const { world, parent } = sharedParent();
beforeEach(() => parent().forget());

async function launchedWithDoor() {
  const completionDoor = parseDoorUrl("http://127.0.0.1:40999");
  if (!completionDoor) throw new Error("no door");
  const outcome = await parent().launch("report", { completionDoor });
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
  return outcome.child;
}

describe("a child that keeps the contract", () => {
  test("starts with exactly what its parent passes to it", async () => {
    const child = await launchedWithDoor();
    const given = JSON.parse(readFileSync(join(child.workdir.path, "given.json"), "utf8"));
    expect(given.args).toEqual([
      "run",
      "--capsule",
      "local/worker",
      "--capsule-version",
      "0.1.0",
      "--workdir",
      child.workdir.path,
      "--json",
      "--readiness-tokens",
      "--no-env-file",
      "--spawn-grant-stdin",
    ]);
    expect(given.env).toEqual({
      CHILD_MODE: "report",
      PATH: parent().environment.PATH,
      HOME: world().home,
      MURMUR_ROOST_URL: world().roostUrl,
      MURMUR_HOST_WARNINGS_REPORTED: "1",
      MURMUR_SPAWNER_LIFELINE: "3",
      MURMUR_SPAWNER: JSON.stringify({
        url: "http://127.0.0.1:40999",
        session_id: parent().session.id,
        context_id: "ctx_test",
        delegation_id: child.delegationId,
      }),
    });
    expect(given.cwd).toBe(child.workdir.path);
    expect(given.pid).toBe(child.pid);
    expect(child.workdir.path).toStartWith(join(parent().session.directories.records.path, "children/"));
    expect(child.workdir.path).toMatch(/\/worker-[0-9a-f]{16}$/);
    expect(statSync(child.workdir.path).mode & 0o7777).toBe(0o700);
    expect(child.delegationId).toMatch(/^dlg_[0-9a-f]{32}$/);
    await endAll([child], patientClock);
  });

  test("is registered as a child, and the launcher has its door and its token", async () => {
    const child = await parent().launched("agent");
    const { client } = parent().session.registration;
    expect(await client.status(child.sessionId)).toMatchObject({
      kind: "granted",
      value: { status: "running", depth_remaining: 2 },
    });
    expect(child.door?.hostname).toBe("127.0.0.1");
    expect(child.operatorToken?.reveal()).toBe("operator-token-0123456789abcdef");
    await endAll([child], patientClock);
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(await client.status(child.sessionId)).toMatchObject({ value: { status: "complete" } });
  });

  test("passes neither handle nor lifeline to the commands it runs", async () => {
    const child = await parent().launched("commands");
    const seen = readFileSync(join(child.workdir.path, "command.txt"), "utf8");
    expect(seen).toContain(`MURMUR_SESSION_ID=${child.sessionId}\n`);
    expect(seen).toContain("MURMUR_RUNTIME_DIR=");
    expect(seen).not.toMatch(/MURMUR_SPAWNER|MURMUR_FORMATION/);
    expect(seen).not.toContain(" 3 -> pipe");
    await endAll([child], patientClock);
  });

  test("may be a script, which is ready when its run has finished", async () => {
    const child = await parent().launched("script");
    expect(child.door).toBeUndefined();
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(readFileSync(join(child.workdir.path, "result-of-run.txt"), "utf8")).toBe("done");
  });

  test("may write any amount of output", async () => {
    const child = await parent().launched("floods-stdout:100");
    await until("all of it was copied on", () => parent().written().endsWith("\nflooded\n"));
    expect(parent().written().length).toBe(100 * 65_536 + "\nflooded\n".length);
    await endAll([child], patientClock);
  });
});

describe("when a launch fails", () => {
  const line = (fields: object) => `says:${JSON.stringify(fields)}`;
  test.each([
    ["exit:3", "ended", "it ended (exit status: 3) without a first line"],
    ["exits-at:unread-input", "ended", "it ended (exit status: 6)"],
    ["exits-at:input", "ended", "it ended (exit status: 6)"],
    ["exits-at:registered", "ended", "it ended (exit status: 6)"],
    ["exits-at:half-a-line", "ended", "it ended (exit status: 6) without a first line"],
    ["killed", "ended", "it ended (signal: 9 (SIGKILL)) without a first line"],
    ["throws", "ended", "it ended (exit status: 1) without a first line"],
    [line({ session_id: "s", url: "127.0.0.1:0" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", url: "127.0.0.1" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", url: "127.0.0.1:65536" }), "bad-door", "names a url that is not"],
    ["says:hello", "not-json", "its first line is not a JSON object"],
    ["says:[1]", "not-json", "its first line is not a JSON object"],
    ["says:", "not-json", "its first line is not a JSON object"],
    ["endless", "not-json", "it does not end"],
    [line({ url: "127.0.0.1:1" }), "no-session-id", "holds no session_id"],
    [line({ session_id: "../x" }), "no-session-id", "holds no session_id"],
    [line({ session_id: "s", url: "192.168.1.1:80" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", url: "localhost:80" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", tokens: { operator: "a\nb" } }), "bad-token", "is no bearer token"],
  ])(
    "because of a child that is told %s, the cause is named and no process is left",
    async (mode, cause, says) => {
      const outcome = await parent().launch(mode);
      if (outcome.kind !== "failed") throw new Error(JSON.stringify(outcome));
      const { failure } = outcome;
      expect(failure.cause).toBe(cause as typeof failure.cause);
      expect(failure.message).toStartWith("could not launch local/worker@0.1.0: ");
      expect(failure.message).toContain(says);
      const { workdir, delegationId } = failure.started ?? {};
      expect(delegationId).toMatch(/^dlg_/);
      expect(existsSync(workdir ?? "")).toBe(true);
      expect(processesOf(workdir ?? "")).toEqual([]);
    },
  );

  test("the last lines of its standard error are reported next to the launcher's own message", async () => {
    const outcome = await parent().launch("exit:7");
    if (outcome.kind !== "failed") throw new Error(outcome.kind);
    expect(outcome.failure.message).toEndWith(": it ended (exit status: 7) without a first line");
    expect(outcome.failure.lastLines).toEqual(["first words", "last words"]);
    expect(parent().written()).toBe("first words\nlast words\n");
  });

  test("a refusal is the daemon's sentence, and leaves nothing behind", async () => {
    const before = parent().children();
    const other = parseArtifactName("local/other");
    if (!other) throw new Error("no name");
    const outcome = await parent().launch("agent", { name: other });
    expect(outcome).toEqual({
      kind: "refused",
      sentence: "capsule 'local/other' is not in parent's spawn_allow",
    });
    expect(parent().children()).toEqual(before);
  });

  test("a missing program leaves no folder", async () => {
    const before = parent().children();
    const environment = { MURMUR_MUR_BINARY: "/nowhere/mur" };
    const outcome = await parent().launch("agent", { environment });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "not-started" } });
    expect(JSON.stringify(outcome)).toContain("/nowhere/mur could not be started");
    expect(outcome.kind === "failed" && outcome.failure.started).toBeFalsy();
    expect(parent().children()).toEqual(before);
  });

  test("silence ends with the launch bound", async () => {
    const clock = manualClock(Date.now());
    const outcome = parent().launch("silent", { clock });
    await until("the child waits", () => clock.waiting() === 1 && processesOf(world().workdir).length > 0);
    await clock.advance(179_999);
    await clock.advance(1);
    expect(await outcome).toMatchObject({
      kind: "failed",
      failure: { cause: "silent", message: expect.stringContaining("no first line within 180 s") },
    });
    expect(processesOf(world().workdir)).toEqual([]);
  });

  test("a child that closes its standard output without a line is ended", async () => {
    const clock = manualClock(Date.now());
    const outcome = parent().launch("closes-stdout", { clock });
    await until("its standard output is closed", () => existsSync(join(world().home, "closed")));
    let settled = false;
    void outcome.finally(() => {
      settled = true;
    });
    await until("it was given up", async () => {
      if (processesOf(world().workdir).length > 0) await clock.advance(1_000);
      return settled;
    });
    expect(await outcome).toMatchObject({ kind: "failed", failure: { cause: "ended" } });
    expect(processesOf(world().workdir)).toEqual([]);
  });

  test("an approval that expired before the start starts nothing", async () => {
    const before = parent().children();
    const outcome = await parent().launch("agent", { clock: manualClock(Date.now() + 600_000) });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "expired" } });
    expect(JSON.stringify(outcome)).toContain("spawn approval expired");
    expect(parent().children()).toEqual(before);
  });

  test("a process that the child left behind does not delay the launcher", async () => {
    const clock = manualClock(Date.now());
    const outcome = parent().launch("leaves-grandchild", { clock });
    // The third is the launch bound.
    await until("its pipes are about to be let go of", () => clock.waiting() === 3);
    await clock.advance(5_000);
    const failed = await outcome;
    if (failed.kind !== "failed") throw new Error(failed.kind);
    expect(failed.failure.message).toContain("exit status: 4");
    expect(failed.failure.lastLines).toEqual(["left a grandchild"]);
    const left = Number(readFileSync(join(failed.failure.started?.workdir ?? "", "left.pid"), "utf8"));
    process.kill(left, "SIGKILL");
  });
});

describe("only the artifact that was judged is launched", () => {
  test("and what its manifest says to its own runtime alone is judged there", async () => {
    const body = `capabilities: {${WORKER}}\nlifecycle: {after_task: doze}\n`;
    await publishCapsule(world().registry, "local/worker", body, "0.2.0");
    const why = "'local/worker/0.2.0': lifecycle.after_task: must be exit or sleep";
    expect(await parent().launch("report", coordinates("local/worker", "0.2.0"))).toMatchObject({
      kind: "failed",
      failure: { cause: "ended", lastLines: [`E-MAN-003: manifest parse error: ${why}`] },
    });
  });

  test("so different bytes under the same coordinates start nothing", async () => {
    const apart = await createWorld(ROOMY, { apart: true });
    try {
      const by = await openParent(apart, parent().binary);
      await apart.publish("local/worker", "shell: {allow: []}", apart.registry);
      const outcome = await by.launch("agent");
      expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "artifact" } });
      expect(JSON.stringify(outcome)).toMatch(/in the store [0-9a-f]{64}, judged [0-9a-f]{64}/);
      expect(by.children()).toEqual([]);
    } finally {
      await apart.stop();
    }
  });
});
