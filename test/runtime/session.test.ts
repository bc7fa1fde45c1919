import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type ArtifactName,
  announceReady,
  type Clock,
  canDelegate,
  closeSession,
  describeRefusal,
  openSession,
  runCapsuleStep,
  type SessionOptions,
} from "../../src/runtime/index.ts";
import { leasePort } from "../kit/leased-port.ts";
import { manualClock } from "../kit/manual-clock.ts";
import { rawServers, reply } from "../kit/raw-server.ts";
import { until } from "../kit/until.ts";
import { writeChild } from "./delegation/shell-child.ts";
import { coordinates, runOf } from "./parent.ts";
import { createWorld, type World } from "./world.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

let world: World;
let written = "";
const serve = rawServers();

beforeAll(async () => {
  world = await createWorld();
  await world.publish("local/parent", "spawn: {allow: [local/worker, local/middle]}");
  await world.publish("local/middle", "spawn: {allow: [local/worker]}");
  await world.publish("local/worker", "");
  await world.publish("local/broken", "spawn: {allow: no}");
  await world.publish("local/twins", "spawn: {allow: [local/worker, local/other, murmur/worker]}");
  await world.publish("local/unnamed", "spawn: {allow: [worker]}");
});
afterAll(() => world.stop());
afterEach(() => {
  written = "";
});

async function keep(bytes: Uint8Array): Promise<void> {
  written += Buffer.from(bytes).toString();
}

interface Opening {
  readonly capsule?: string;
  readonly environment?: Record<string, string | undefined>;
  /** Standard input; its presence is `--spawn-grant-stdin`. */
  readonly input?: string;
  readonly clock?: Clock;
}

function open({ capsule = "local/parent", environment = {}, input, clock }: Opening) {
  const options: SessionOptions = {
    run: { ...runOf(capsule, world.workdir), grantOnStdin: input !== undefined },
    environment: { HOME: world.home, MURMUR_ROOST_URL: world.roostUrl, ...environment },
    output: { stdout: keep, stderr: keep },
    ...(input !== undefined && { input: new Blob([input]).stream() }),
    ...(clock && { clock }),
  };
  return openSession(options);
}

async function refusal(opening: Opening): Promise<string> {
  const opened = await open(opening);
  return opened.ok ? "it opened" : describeRefusal(opened.fault);
}

describe("the daemon registers", () => {
  test("a session that may spawn, with a credential of its own", async () => {
    const opened = await open({});
    if (!opened.ok) throw new Error(describeRefusal(opened.fault));
    const session = opened.value;
    expect(session.id).toMatch(/^ses_[0-9a-f]{32}$/);
    const status = () => session.registration?.client.status(session.id);
    expect(await status()).toMatchObject({ value: { status: "running", depth_remaining: 3 } });
    expect(existsSync(session.directories.runtime.path)).toBe(true);
    await closeSession(session, "failed");
    expect(await status()).toMatchObject({ value: { status: "failed" } });
    expect(existsSync(session.directories.runtime.path)).toBe(false);
    expect(existsSync(session.directories.records.path)).toBe(true);
    expect(written).toBe("");
  });

  test("a session under an id of any characters that it accepts, and returns it when asked", async () => {
    const opened = await open({});
    if (!opened.ok || !opened.value.registration) throw new Error("no client");
    const { client } = opened.value.registration;
    for (const session_id of ["ses:1", ":", "a.b-c_D:9", "..."]) {
      expect(await client.register({ session_id, ...coordinates("local/parent") })).toMatchObject({
        kind: "granted",
      });
      expect(await client.status(session_id)).toMatchObject({ value: { status: "running" } });
    }
    await closeSession(opened.value, "complete");
  });

  test("no other session: no connection is opened, and no address is needed", async () => {
    const silent = await serve(reply(200, "{}"));
    for (const MURMUR_ROOST_URL of [silent.url, undefined]) {
      const opened = await open({ capsule: "local/worker", environment: { MURMUR_ROOST_URL } });
      if (!opened.ok) throw new Error(describeRefusal(opened.fault));
      expect(opened.value.registration).toBeUndefined();
      await closeSession(opened.value, "complete");
    }
    expect(silent.received()).toBe("");
  });

  test("a session with an approval, which is spent by it", async () => {
    const parent = await open({});
    if (!parent.ok || !parent.value.registration) throw new Error("no parent");
    const { client, credential } = parent.value.registration;
    const granted = await client.spawn(coordinates("local/worker"), credential);
    if (granted.kind !== "granted") throw new Error(granted.kind);
    const input = `${granted.value.approval.reveal()}\n`;
    const child = await open({ capsule: "local/worker", input });
    if (!child.ok) throw new Error(describeRefusal(child.fault));
    expect(await client.status(child.value.id)).toMatchObject({ value: { depth_remaining: 2 } });
    const again = await refusal({ capsule: "local/worker", input });
    expect(again).toStartWith("E-RUN-019: local/worker@0.1.0 could not register: mur-roost at http://127");
    expect(again).toContain("this spawn approval has already been redeemed");
  });
});

describe("delegate-task", () => {
  test("belongs to the session and has the bare names that its manifest lists, in that order", async () => {
    await world.publish(
      "local/chief",
      "spawn: {allow: [murmur/z, local/a, murmur/z], workdir_snapshot: [local/a]}",
    );
    const daemon = await serve(reply(200, '{"credential":"msc1.a.b"}'));
    const opened = await open({ capsule: "local/chief", environment: { MURMUR_ROOST_URL: daemon.url } });
    if (!opened.ok || !canDelegate(opened.value)) throw new Error("it may not delegate");
    const { definition, capsules } = opened.value.delegateTask;
    expect(definition).toMatchObject({
      name: "delegate-task",
      input_schema: {
        type: "object",
        properties: { capsule: { type: "string", enum: ["z", "a"] } },
        required: ["capsule", "version", "task"],
      },
    });
    expect(definition.description.match(/\S+(?= starts with a copy)/g)).toEqual(["a"]);
    expect([...capsules]).toEqual([
      ["z", "murmur/z"],
      ["a", "local/a"],
    ] as [string, ArtifactName][]);
    await closeSession(opened.value, "complete");
  });

  test("does not exist if the manifest lists nothing", async () => {
    const opened = await open({ capsule: "local/worker" });
    if (!opened.ok) throw new Error(describeRefusal(opened.fault));
    expect(opened.value.delegateTask).toBeUndefined();
    expect(canDelegate(opened.value)).toBe(false);
    await closeSession(opened.value, "complete");
  });

  test.each([
    ["local/twins", "'local/worker' and 'murmur/worker' are both 'worker' to a model; list only one of them"],
    ["local/unnamed", "'worker' is no full name, <scope>/<name>"],
  ])(
    "refuses %s: a model could not name its capsules, and the daemon hears of no session",
    async (capsule, why) => {
      const daemon = await serve(reply(200, '{"credential":"msc1.a.b"}'));
      const said = await refusal({ capsule, environment: { MURMUR_ROOST_URL: daemon.url } });
      expect(said).toBe(
        `E-MAN-003: manifest parse error: '${capsule}/0.1.0': capabilities.spawn.allow: ${why}`,
      );
      expect(daemon.received()).toBe("");
    },
  );
});

describe("the launch is refused for", () => {
  test("a missing daemon to register at", async () => {
    const unset = await refusal({ environment: { MURMUR_ROOST_URL: undefined } });
    expect(unset).toBe("E-RUN-019: local/parent@0.1.0 could not register: MURMUR_ROOST_URL is not set");
    await using gone = await leasePort();
    const unreachable = await refusal({ environment: { MURMUR_ROOST_URL: gone.url } });
    expect(unreachable).toStartWith(
      `E-RUN-019: local/parent@0.1.0 could not register: mur-roost at ${gone.url}: `,
    );
    expect(unreachable).toContain("ECONNREFUSED");
  });

  test("another after_task than exit or sleep", async () => {
    await world.publish("local/dozer", "}\nlifecycle: {after_task: doze");
    const why = "'local/dozer/0.1.0': lifecycle.after_task: must be exit or sleep";
    expect(await refusal({ capsule: "local/dozer" })).toBe(`E-MAN-003: manifest parse error: ${why}`);
  });

  test("a daemon that refuses", async () => {
    const no = await serve(reply(403, '{"error":"capsule \'local/parent\' is not in --spawn-allow"}'));
    expect(await refusal({ environment: { MURMUR_ROOST_URL: no.url } })).toEndWith(
      `mur-roost at ${no.url}: capsule 'local/parent' is not in --spawn-allow`,
    );
  });

  test.each(["", "\n", "  \n", "one\ntwo\n", "two words\n", "msa1.a.b\n\n", "ü\n", "x".repeat(20_000)])(
    "an input that is no approval (%#), which is never taken for a start by hand",
    async (input) => {
      const daemon = await serve(reply(200, '{"credential":"msc1.a.b"}'));
      const said = await refusal({ input, environment: { MURMUR_ROOST_URL: daemon.url } });
      expect(said).toStartWith("E-RUN-019: --spawn-grant-stdin: no spawn approval on standard input");
      expect(daemon.received()).toBe("");
    },
  );

  test.each([
    ["E-RUN-044", "MURMUR_FORMATION_ID", "frm_1"],
    ["E-RUN-046", "MURMUR_FORMATION_PEERS", "a=http://a.formation.invalid"],
    ["E-RUN-046", "MURMUR_FORMATION_LIFELINE", "3"],
    ["E-RUN-046", "MURMUR_FORMATION_CHANNEL", "999999"],
    ["E-RUN-020", "MURMUR_SPAWNER", "{}"],
    ["E-RUN-020", "MURMUR_SPAWNER_LIFELINE", "1"],
  ])("%s, given %s=%s, before the daemon hears of a session", async (code, variable, value) => {
    const daemon = await serve(reply(200, '{"credential":"msc1.a.b"}'));
    const said = await refusal({ environment: { [variable]: value, MURMUR_ROOST_URL: daemon.url } });
    expect(said).toStartWith(`${code}: ${variable} `);
    expect(daemon.received()).toBe("");
  });

  test("a manifest that cannot be loaded", async () => {
    expect(await refusal({ capsule: "local/nowhere" })).toStartWith("E-MAN-003: registry error for");
    expect(await refusal({ capsule: "local/broken" })).toContain("capabilities.spawn.allow: must be a list");
  });

  test("a command line that is not a capsule's; the process's own is used if none is given", async () => {
    const program = join(import.meta.dir, "../../examples/outcomes/worker.ts");
    const started = Bun.spawn([process.execPath, "--no-env-file", program, "run", "--capsule", "worker"], {
      env: { PATH: process.env.PATH, HOME: world.home },
      stdio: ["ignore", "ignore", "pipe"],
    });
    expect(await new Response(started.stderr).text()).toBe("--capsule must be a full name, <scope>/<name>\n");
    expect(await started.exited).toBe(1);
  });

  test("an invalid home", async () => {
    for (const HOME of [undefined, "", "relative", "/nowhere/at/all"]) {
      expect(await refusal({ environment: { HOME } })).toContain("HOME");
    }
  });
});

test.each(["local/parent", "local/worker"])(
  "%s is not opened once its start was given up",
  async (capsule) => {
    const opened = await openSession({
      run: runOf(capsule, world.workdir),
      environment: { HOME: world.home, MURMUR_ROOST_URL: world.roostUrl },
      signal: AbortSignal.abort(),
    });
    if (opened.ok) throw new Error("it opened");
    expect(describeRefusal(opened.fault)).toEndWith("the start was given up");
  },
);

test("the first line of a delegated session is its readiness line, whatever its own child prints before", async () => {
  const parent = await open({});
  if (!parent.ok || !parent.value.registration) throw new Error("no parent");
  const { client, credential } = parent.value.registration;
  const granted = await client.spawn(coordinates("local/middle"), credential);
  if (granted.kind !== "granted") throw new Error(JSON.stringify(granted));
  const says = (session: string) => `printf '{"session_id":"%s","url":""}\\n' ${session}`;
  const child = writeChild(world.home, "talker", "read -r approval", says("ses_$$"), says("ses_FORGED"));
  const written = { stdout: "", stderr: "" };
  const opened = await openSession({
    run: { ...runOf("local/middle", world.workdir), grantOnStdin: true },
    environment: { HOME: world.home, MURMUR_ROOST_URL: world.roostUrl, MURMUR_MUR_BINARY: child },
    output: {
      stdout: async (bytes) => {
        written.stdout += Buffer.from(bytes);
      },
      stderr: async (bytes) => {
        written.stderr += Buffer.from(bytes);
      },
    },
    input: new Blob([`${granted.value.approval.reveal()}\n`]).stream(),
  });
  if (!opened.ok) throw new Error(describeRefusal(opened.fault));
  const middle = opened.value;
  if (!canDelegate(middle)) throw new Error("no spawn.allow");
  const run = () =>
    runCapsuleStep(middle, {
      ...coordinates("local/worker"),
      task: "",
      contextId: "ctx_1",
      signal: new AbortController().signal,
    });
  await run();
  await until("the child's line came", () => written.stderr.includes("ses_FORGED"));
  expect(written.stdout).toBe("");
  await announceReady(middle);
  expect(JSON.parse(written.stdout)).toMatchObject({ session_id: middle.id });
  await run();
  await until("the next child's line came", () => written.stdout.includes("ses_FORGED"));
  await closeSession(middle, "complete");
  await closeSession(parent.value, "complete");
});

test("a session whose end nobody waits for gives its slot back, unless the daemon is silent for 2 s", async () => {
  // Its 2 s never pass, however busy the machine is.
  const opened = await open({ clock: manualClock() });
  if (!opened.ok) throw new Error(describeRefusal(opened.fault));
  await closeSession(opened.value, "complete", AbortSignal.abort());
  expect(await opened.value.registration?.client.status(opened.value.id)).toMatchObject({
    value: { status: "complete" },
  });
  expect(written).toBe("");

  const asked = Promise.withResolvers<void>();
  const silent = await serve((socket) =>
    socket.write("", () => (isOpened ? asked.resolve() : reply(200, '{"credential":"msc1.a.b"}')(socket))),
  );
  let isOpened = false;
  const clock = manualClock();
  const next = await openSession({
    run: runOf("local/parent", world.workdir),
    environment: { HOME: world.home, MURMUR_ROOST_URL: silent.url },
    output: { stdout: keep, stderr: keep },
    clock,
  });
  if (!next.ok) throw new Error(describeRefusal(next.fault));
  isOpened = true;
  const closing = closeSession(next.value, "complete", AbortSignal.abort());
  await asked.promise;
  await clock.advance(2_000);
  await closing;
  expect(written).toMatch(/^warning: session ses_\w+ could not deregister: .*the request was given up\n$/);
});

test("a failed deregistration is one line of warning, and changes nothing", async () => {
  await using leased = await leasePort();
  const daemon = await serve(reply(200, '{"credential":"msc1.a.b"}'), leased.port);
  const opened = await open({ environment: { MURMUR_ROOST_URL: daemon.url } });
  if (!opened.ok) throw new Error(describeRefusal(opened.fault));
  await daemon.close();
  await closeSession(opened.value, "complete");
  expect(written).toMatch(/^warning: session ses_\w+ could not deregister: mur-roost at http:.*\n$/);
  expect(existsSync(opened.value.directories.runtime.path)).toBe(false);
});
