/** What `using` and an `AbortSignal` do for a session, a child and everything that waits. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRoostClient } from "../../src/runtime/client.ts";
import { parseRoostUrl, readChildFile } from "../../src/runtime/index.ts";
import { Secret } from "../../src/runtime/secret.ts";
import { closeSession, openSession, type Session } from "../../src/runtime/session/session.ts";
import { hold, testFolder } from "../kit/folders.ts";
import { runOf } from "./parent.ts";
import { createWorld, runArguments, type World } from "./world.ts";

setDefaultTimeout(120_000);

async function open(world: World, signal?: AbortSignal) {
  return openSession({
    run: runOf("local/parent", world.workdir),
    environment: { HOME: world.home, MURMUR_ROOST_URL: world.roostUrl },
    output: { stdout: async () => {}, stderr: async () => {} },
    ...(signal && { signal }),
  });
}

async function opened(world: World): Promise<Session> {
  const session = await open(world);
  if (!session.ok) throw new Error(session.fault.message);
  return session.value;
}

async function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld();
  try {
    await world.publish("local/parent", "spawn: {allow: [local/child]}");
    await run(world);
  } finally {
    await world.stop();
  }
}

async function statusOf(world: World, id: string): Promise<unknown> {
  const response = await fetch(`${world.roostUrl}/status/${id}`);
  return ((await response.json()) as { status?: unknown }).status;
}

test("a session that leaves its block has failed, unless it was closed with another status", () =>
  withWorld(async (world) => {
    let thrown = "";
    let runtime = "";
    try {
      await using session = await opened(world);
      thrown = session.id;
      runtime = session.directories.runtime.path;
      expect(existsSync(runtime)).toBe(true);
      throw new Error("in the middle");
    } catch {}
    expect(await statusOf(world, thrown)).toBe("failed");
    expect(existsSync(runtime)).toBe(false);

    let said = "";
    {
      await using session = await opened(world);
      said = session.id;
      await closeSession({ ...session }, "complete");
    }
    expect(await statusOf(world, said)).toBe("complete");
  }));

test("a session is not opened once its signal has aborted", () =>
  withWorld(async (world) => {
    const session = await open(world, AbortSignal.abort());
    expect(session).toMatchObject({ ok: false, fault: { code: "E-RUN-019" } });
  }));

test("every request of the client can be aborted", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const url = parseRoostUrl(`http://127.0.0.1:${silent.port}`);
  if (!url.ok) throw new Error(url.fault);
  const client = createRoostClient(url.value);
  const cancel = new AbortController();
  const token = new Secret("msc1.token");
  const coordinates = { name: "local/parent", version: "0.1.0" };
  const asked = [
    client.health(cancel.signal),
    client.register({ session_id: "ses_one", ...coordinates }, undefined, cancel.signal),
    client.spawn(coordinates, token, cancel.signal),
    client.deregister("failed", token, cancel.signal),
    client.status("ses_one", cancel.signal),
  ];
  cancel.abort();
  for (const answer of await Promise.all(asked)) {
    expect(answer).toEqual({ kind: "unreachable", reason: "the request was given up" });
  }
});

test("reading a file stops when it is aborted", async () => {
  const folder = testFolder();
  try {
    writeFileSync(join(folder.path, "large"), Buffer.alloc(1024 * 1024));
    const directory = hold(folder.path);
    const cancel = new AbortController();
    let read = 0;
    const reading = await readChildFile(directory, ["large"], {
      signal: cancel.signal,
      onChunk(chunk) {
        read += chunk.length;
        cancel.abort();
      },
    });
    directory.close();
    expect(reading).toMatchObject({ ok: false, fault: { kind: "refused" } });
    expect(read).toBeLessThan(1024 * 1024);
  } finally {
    folder.remove();
  }
});

test("a capsule that waits for its task can be told not to", () =>
  withWorld(async (world) => {
    const program = join(import.meta.dir, "unserved-program.ts");
    const capsule = Bun.spawn([process.execPath, program, ...runArguments(world.workdir)], {
      env: { HOME: world.home, MURMUR_ROOST_URL: world.roostUrl },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ready = JSON.parse((await capsule.stdout.text()).split("\n")[0] ?? "");
    expect(await capsule.exited).toBe(0);
    expect(await statusOf(world, ready.session_id)).toBe("failed");
  }));
