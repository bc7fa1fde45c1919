/** A session gives its slot back, whenever its process is told to end. */

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeSession, openSession } from "../../../src/runtime/index.ts";
import { endAfterTest } from "../../kit/end-after-test.ts";
import { shared } from "../../kit/shared.ts";
import { until } from "../../kit/until.ts";
import { runOf, sharedParent } from "../parent.ts";
import { childBinary, processesOf, runArguments } from "../world.ts";

const { world, parent } = sharedParent();
let binary: string;
beforeAll(async () => {
  binary = await childBinary();
});

/** What passes every request on to the daemon, and an answer to a registration only when it is told to. */
const gate = shared(async (undo) => {
  let opened = Promise.withResolvers<void>();
  let answered = Promise.withResolvers<string>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = request.method === "POST" ? await request.text() : null;
      const answer = await fetch(`${world().roostUrl}${pathname}`, {
        method: request.method,
        headers: request.headers,
        body,
      });
      if (pathname === "/register") {
        answered.resolve(JSON.parse(body ?? "").session_id);
        await opened.promise;
      }
      return new Response(await answer.text(), { status: answer.status });
    },
  });
  undo.defer(() => server.stop(true));
  return {
    url: `http://127.0.0.1:${server.port}`,
    close() {
      opened = Promise.withResolvers();
      answered = Promise.withResolvers();
    },
    /** The id of the session that the daemon has just registered. */
    answered: () => answered.promise,
    open: () => opened.resolve(),
  };
});

/** A capsule that an operator starts. */
function start(mode: string, roostUrl = world().roostUrl, before: readonly string[] = []) {
  const capsule = Bun.spawn([...before, binary, ...runArguments(world().workdir)], {
    env: { ...parent().environment, MURMUR_ROOST_URL: roostUrl, CHILD_MODE: mode },
    cwd: world().workdir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return endAfterTest(capsule);
}

const statusOf = (sessionId: string) => parent().statusOf(sessionId);

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

describe("a signal before the program says what it does", () => {
  test.each(SIGNALS)("%s while the daemon's answer is on its way retires the session", async (signal) => {
    gate().close();
    const capsule = start("open", gate().url);
    const id = await gate().answered();
    expect(await statusOf(id)).toBe("running");
    capsule.kill(signal);
    gate().open();
    await capsule.exited;
    expect(capsule.signalCode).toBe(signal);
    expect(await statusOf(id)).toBe("failed");
  });

  test.each(SIGNALS)(
    "%s to a session that is open retires it, and removes its runtime directory",
    async (signal) => {
      gate().close();
      gate().open();
      const capsule = start("open", gate().url);
      const id = await gate().answered();
      await capsule.stdout.getReader().read();
      const runtime = join(world().home, ".murmur/sessions", id, "runtime");
      expect(existsSync(runtime)).toBe(true);
      capsule.kill(signal);
      await capsule.exited;
      expect(capsule.signalCode).toBe(signal);
      expect(await statusOf(id)).toBe("failed");
      expect(existsSync(runtime)).toBe(false);
    },
  );

  test.each(["open:own", "open:once"])("is left to a program that handles it itself: %s", async (mode) => {
    gate().close();
    gate().open();
    const capsule = start(mode, gate().url);
    const id = await gate().answered();
    await capsule.stdout.getReader().read();
    capsule.kill("SIGTERM");
    expect(await capsule.exited).toBe(5);
    expect(await statusOf(id)).toBe("running");
  });

  test("is not handled any more once the session is closed, and not if it did not open", async () => {
    const before = SIGNALS.map((signal) => process.listenerCount(signal));
    const options = (name: string) => ({
      run: runOf(name, world().workdir),
      environment: parent().environment,
    });
    expect(await openSession(options("local/nowhere"))).toMatchObject({ ok: false });
    const opened = await openSession(options("local/parent"));
    if (!opened.ok) throw new Error(opened.fault.message);
    await closeSession(opened.value, "complete");
    expect(SIGNALS.map((signal) => process.listenerCount(signal))).toEqual(before);
  });
});

test("a start that is given up while the daemon's answer is on its way retires the session", async () => {
  gate().close();
  const giveUp = new AbortController();
  const opening = openSession({
    run: runOf("local/parent", world().workdir),
    environment: { ...parent().environment, MURMUR_ROOST_URL: gate().url },
    signal: giveUp.signal,
  });
  const id = await gate().answered();
  giveUp.abort();
  gate().open();
  expect(await opening).toMatchObject({ ok: false, fault: { code: "E-RUN-019" } });
  expect(await statusOf(id)).toBe("failed");
});

const canBeFirst =
  process.platform === "linux" && Bun.spawnSync(["unshare", "--pid", "--fork", "true"]).exitCode === 0;
test.skipIf(!canBeFirst)(
  "the first process of a container ends too, although no signal ends it",
  async () => {
    gate().close();
    gate().open();
    const capsule = start("open", gate().url, ["unshare", "--pid", "--fork", "--kill-child"]);
    const id = await gate().answered();
    await capsule.stdout.getReader().read();
    const [first] = processesOf(world().workdir).filter((pid) => pid !== capsule.pid);
    if (first === undefined) throw new Error("there is no such process");
    process.kill(first, "SIGTERM");
    expect(await capsule.exited).toBe(143);
    expect(await statusOf(id)).toBe("failed");
  },
);

describe("a child that winds down", () => {
  test.each(SIGNALS)("is not cut short by a second %s, and retires", async (signal) => {
    const child = await parent().launched("slow-agent");
    child.signal("SIGTERM");
    await until("it winds down", () => existsSync(join(child.workdir.path, "winding-down")));
    process.kill(child.pid, signal);
    process.kill(child.pid, signal);
    writeFileSync(join(child.workdir.path, "go"), "");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    expect(await statusOf(child.sessionId)).not.toBe("running");
    child.release();
  });

  test("has given its slot back before a spawner in a hurry would kill it, and only once", async () => {
    parent().forget();
    const child = await parent().launched("slow-agent");
    child.signal("SIGTERM");
    await until("its slot is free", async () => (await statusOf(child.sessionId)) === "failed");
    expect(existsSync(join(child.workdir.path, "go"))).toBe(false);
    writeFileSync(join(child.workdir.path, "go"), "");
    expect(await child.exited).toEqual({ kind: "exited", status: 0 });
    await child.lastStderrLines();
    expect(parent().written()).not.toContain("could not deregister");
    child.release();
  });
});
