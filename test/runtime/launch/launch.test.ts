import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../src/runtime/clock.ts";
import {
  endAll,
  isRegistered,
  type LaunchedChild,
  type LaunchOutcome,
  type LaunchRequest,
  launch,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
  parseDoorUrl,
  type RegisteredSession,
  systemClock,
} from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { childBinary, createWorld, processesOf, type World } from "../world.ts";

const name = parseArtifactName("local/worker");
const parentName = parseArtifactName("local/parent");
const version = parseArtifactVersion("0.1.0");
const completionDoor = parseDoorUrl("http://127.0.0.1:40999");
if (!name || !parentName || !version || !completionDoor) throw new Error("the test's own names do not parse");
const asked: LaunchRequest = { name, version, contextId: "ctx_test", completionDoor };

let world: World;
let binary: string;
let written = "";
let environment: Record<string, string> = {};
let session: RegisteredSession;

beforeAll(async () => {
  world = await createWorld(["--max-concurrent", "100000", "--max-live-capsules", "100000"]);
  binary = await childBinary();
  await world.publish(
    "local/parent",
    "spawn: {allow: [local/worker]}, env: {allow: [CHILD_MODE, ONLY_PARENT]}",
  );
  await world.publish("local/worker", "env: {allow: [CHILD_MODE]}");
  session = await openParent(systemClock);
});
afterAll(() => world.stop());
beforeEach(() => {
  written = "";
});

async function keep(bytes: Uint8Array): Promise<void> {
  written += Buffer.from(bytes).toString("latin1");
}

async function openParent(clock: Clock, on = world): Promise<RegisteredSession> {
  environment = {
    PATH: process.env.PATH ?? "",
    HOME: on.home,
    MURMUR_ROOST_URL: `${on.roostUrl}/`,
    MURMUR_MUR_BINARY: binary,
    ONLY_PARENT: "only the parent's manifest allows this",
    SECRET_OF_PARENT: "no manifest allows this",
  };
  if (!parentName || !version) throw new Error("no coordinates");
  const opened = await openSession({
    run: {
      name: parentName,
      version,
      workdir: on.workdir,
      grantOnStdin: false,
      readinessTokens: false,
      parentWorkdir: undefined,
    },
    environment,
    clock,
    output: { stdout: keep, stderr: keep },
  });
  if (!opened.ok || !isRegistered(opened.value)) throw new Error(JSON.stringify(opened));
  return opened.value;
}

function launchAs(mode: string, by = session, more: Partial<LaunchRequest> = {}): Promise<LaunchOutcome> {
  environment.CHILD_MODE = mode;
  return launch({ ...by, environment }, { ...asked, ...more });
}

async function launched(mode: string, by = session): Promise<LaunchedChild> {
  const outcome = await launchAs(mode, by);
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
  return outcome.child;
}

function children(of = session): string[] {
  const folder = join(of.folders.records, "children");
  return existsSync(folder) ? readdirSync(folder) : [];
}

describe("a child that keeps the contract", () => {
  test("starts with exactly what its parent gives it", async () => {
    const child = await launched("report");
    const given = JSON.parse(readFileSync(join(child.workdir, "given.json"), "utf8"));
    expect(given.args).toEqual([
      "run",
      "--capsule",
      "local/worker",
      "--capsule-version",
      "0.1.0",
      "--workdir",
      child.workdir,
      "--json",
      "--readiness-tokens",
      "--no-env-file",
      "--spawn-grant-stdin",
    ]);
    expect(given.env).toEqual({
      CHILD_MODE: "report",
      PATH: environment.PATH,
      HOME: world.home,
      MURMUR_ROOST_URL: world.roostUrl,
      MURMUR_HOST_WARNINGS_REPORTED: "1",
      MURMUR_SPAWNER_LIFELINE: "3",
      MURMUR_SPAWNER: JSON.stringify({
        url: "http://127.0.0.1:40999",
        session_id: session.id,
        context_id: "ctx_test",
        delegation_id: child.delegationId,
      }),
    });
    expect(given.cwd).toBe(child.workdir);
    expect(given.pid).toBe(child.pid);
    expect(child.workdir).toStartWith(join(session.folders.records, "children/"));
    expect(child.workdir).toMatch(/\/worker-[0-9a-f]{16}$/);
    expect(statSync(child.workdir).mode & 0o7777).toBe(0o700);
    expect(child.delegationId).toMatch(/^dlg_[0-9a-f]{32}$/);
    await endAll([child], systemClock);
  });

  test("is registered as a child, its door and its token in the launcher's hands", async () => {
    const child = await launched("agent");
    const { client } = session.registration;
    expect(await client.status(child.sessionId)).toMatchObject({
      kind: "granted",
      value: { status: "running", depth_remaining: 2 },
    });
    expect(child.door?.hostname).toBe("127.0.0.1");
    expect(child.operatorToken?.reveal()).toBe("operator-token-0123456789abcdef");
    await endAll([child], systemClock);
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(await client.status(child.sessionId)).toMatchObject({ value: { status: "complete" } });
  });

  test("hands neither handle nor lifeline to the commands it runs", async () => {
    const child = await launched("commands");
    const seen = readFileSync(join(child.workdir, "command.txt"), "utf8");
    expect(seen).toContain(`MURMUR_SESSION_ID=${child.sessionId}\n`);
    expect(seen).toContain("MURMUR_RUNTIME_DIR=");
    expect(seen).not.toMatch(/MURMUR_SPAWNER|MURMUR_FORMATION/);
    expect(seen).not.toContain(" 3 -> pipe");
    await endAll([child], systemClock);
  });

  test("may be a script, which is ready when its run has finished", async () => {
    const child = await launched("script");
    expect(child.door).toBeUndefined();
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(readFileSync(join(child.workdir, "result-of-run.txt"), "utf8")).toBe("done");
  });

  test("may write as much as it likes", async () => {
    const child = await launched("floods-stdout");
    await until("all of it was copied on", () => written.endsWith("\nflooded\n"), 30_000);
    expect(written.length).toBe(400 * 65_536 + "\nflooded\n".length);
    await endAll([child], systemClock);
  });
});

describe("every failure is told apart, and nothing of it stays", () => {
  const line = (fields: object) => `says:${JSON.stringify(fields)}`;
  test.each([
    ["exit:3", "ended", "it ended (exit status: 3) without a first line"],
    ["killed", "ended", "it ended (signal: 9 (SIGKILL)) without a first line"],
    ["throws", "ended", "an exception nobody caught"],
    ["says:hello", "not-json", "its first line is not a JSON object"],
    ["says:[1]", "not-json", "its first line is not a JSON object"],
    ["says:", "not-json", "its first line is not a JSON object"],
    ["endless", "not-json", "it does not end"],
    [line({ url: "127.0.0.1:1" }), "no-session-id", "holds no session_id"],
    [line({ session_id: "../x" }), "no-session-id", "holds no session_id"],
    [line({ session_id: "s", url: "192.168.1.1:80" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", url: "localhost:80" }), "bad-door", "names a url that is not"],
    [line({ session_id: "s", tokens: { operator: "a\nb" } }), "bad-token", "is no bearer token"],
  ])("%s", async (mode, cause, says) => {
    const outcome = await launchAs(mode);
    if (outcome.kind !== "failed") throw new Error(JSON.stringify(outcome));
    const { failure } = outcome;
    expect(failure.cause).toBe(cause as typeof failure.cause);
    expect(failure.message).toStartWith("could not launch local/worker@0.1.0: ");
    expect(failure.message).toContain(says);
    const { workdir, delegationId } = failure.started ?? {};
    expect(delegationId).toMatch(/^dlg_/);
    expect(existsSync(workdir ?? "")).toBe(true);
    expect(processesOf(workdir ?? "?")).toEqual([]);
  });

  test("the last lines of its standard error are quoted", async () => {
    const outcome = await launchAs("exit:7");
    if (outcome.kind !== "failed") throw new Error(outcome.kind);
    expect(outcome.failure.message).toEndWith("\nlast lines of its standard error:\nfirst words\nlast words");
    expect(written).toBe("first words\nlast words\n");
  });

  test("a refusal is the daemon's sentence, and leaves nothing", async () => {
    const before = children();
    const other = parseArtifactName("local/other");
    if (!other) throw new Error("no name");
    const outcome = await launchAs("agent", session, { name: other });
    expect(outcome).toEqual({
      kind: "refused",
      sentence: "capsule 'local/other' is not in parent's spawn_allow",
    });
    expect(children()).toEqual(before);
  });

  test("a program that is not there leaves no folder", async () => {
    const before = children();
    environment.MURMUR_MUR_BINARY = "/nowhere/mur";
    const outcome = await launchAs("agent");
    environment.MURMUR_MUR_BINARY = binary;
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "not-started" } });
    expect(JSON.stringify(outcome)).toContain("/nowhere/mur could not be started");
    expect(outcome.kind === "failed" && outcome.failure.started).toBeFalsy();
    expect(children()).toEqual(before);
  });

  test("silence ends with the launch bound", async () => {
    const clock = manualClock(Date.now());
    const outcome = launchAs("silent", { ...session, clock });
    await until("the child waits", () => clock.waiting() === 1 && processesOf(binary).length > 0);
    await clock.advance(179_999);
    await clock.advance(1);
    expect(await outcome).toMatchObject({
      kind: "failed",
      failure: { cause: "silent", message: expect.stringContaining("no first line within 180 s") },
    });
    expect(processesOf(binary)).toEqual([]);
  });

  test("a child that closes its standard output without a line is ended", async () => {
    const clock = manualClock(Date.now());
    const outcome = launchAs("closes-stdout", { ...session, clock });
    let settled = false;
    void outcome.finally(() => {
      settled = true;
    });
    await until("it was given up", async () => {
      if (processesOf(binary).length > 0) await clock.advance(1_000);
      return settled;
    });
    expect(await outcome).toMatchObject({ kind: "failed", failure: { cause: "ended" } });
    expect(processesOf(binary)).toEqual([]);
  });

  test("an approval that expired before the start starts nothing", async () => {
    const before = children();
    const outcome = await launchAs("agent", { ...session, clock: manualClock(Date.now() + 61_000) });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "expired" } });
    expect(JSON.stringify(outcome)).toContain("spawn approval expired");
    expect(children()).toEqual(before);
  });

  test("a process left behind by the child does not hold the launcher up", async () => {
    const clock = manualClock(Date.now());
    const outcome = launchAs("leaves-grandchild", { ...session, clock });
    let settled = false;
    void outcome.finally(() => {
      settled = true;
    });
    await until("the launch has failed", async () => {
      await clock.advance(1_000);
      return settled;
    });
    const failed = await outcome;
    if (failed.kind !== "failed") throw new Error(failed.kind);
    expect(failed.failure.message).toContain("exit status: 4");
    expect(failed.failure.message).toContain("left a grandchild");
    const left = Number(readFileSync(join(failed.failure.started?.workdir ?? "", "left.pid"), "utf8"));
    process.kill(left, "SIGKILL");
  });
});

describe("the artifact that was judged is the one that is launched", () => {
  test("other bytes under the same coordinates start nothing", async () => {
    const apart = await createWorld([], { apart: true });
    try {
      const manifest = "spawn: {allow: [local/worker]}, env: {allow: [CHILD_MODE, ONLY_PARENT]}";
      await apart.publish("local/parent", manifest);
      await apart.publish("local/parent", manifest, apart.registry);
      await apart.publish("local/worker", "env: {allow: [CHILD_MODE]}", apart.registry);
      await apart.publish("local/worker", "env: {allow: [CHILD_MODE, ONLY_PARENT]}");
      const by = await openParent(systemClock, apart);
      const outcome = await launchAs("agent", by);
      expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "artifact" } });
      expect(JSON.stringify(outcome)).toMatch(/in the store [0-9a-f]{64}, judged [0-9a-f]{64}/);
      expect(children(by)).toEqual([]);
    } finally {
      await apart.stop();
      environment.HOME = world.home;
      environment.MURMUR_ROOST_URL = world.roostUrl;
    }
  });
});
