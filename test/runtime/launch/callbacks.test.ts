/** Launches whose callbacks or streams fail leave nothing behind, and no promise is left rejected. */

import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { endAll, launch, type RegisteredSession } from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { scratchDirectory } from "../../kit/scratch.ts";
import { until } from "../../kit/until.ts";
import { coordinates, sharedParent } from "../parent.ts";
import { ENGINE_WITHOUT_THREADS } from "../without-threads.ts";
import { processesOf, runArguments } from "../world.ts";

const snapshot =
  "spawn: {allow: [local/worker], workdir_snapshot: [local/worker]}, env: {allow: [CHILD_MODE]}";
const { world, parent } = sharedParent({ parent: snapshot });
const fails = () => {
  throw new Error("the caller's own mistake");
};
const rejects = async () => fails();

test.each([
  ["throw", fails],
  ["reject", rejects],
])("functions that %s do not stop a child from being launched", async (_, mistaken) => {
  parent().forget();
  const child = await parent().launched("agent", {
    onStarted: mistaken,
    onReported: mistaken,
    onProgress: mistaken,
  });
  await endAll([child], patientClock);
  child.release();
  for (const name of ["onStarted", "onReported", "onProgress"]) {
    await until(`${name} is complained of`, () =>
      parent().written().includes(`warning: ${name} of a launch failed: the caller's own mistake`),
    );
  }
});

test.each([
  ["throw", fails],
  ["reject", rejects],
])("streams that %s do not stop a child from writing", async (_, mistaken) => {
  const output = { stdout: mistaken, stderr: mistaken };
  const environment = { ...parent().environment, CHILD_MODE: "floods-stdout" };
  const asked = { ...coordinates("local/worker"), contextId: "ctx_test" };
  const outcome = await launch({ ...parent().session, environment, output }, asked);
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
  // It has written all that it has to write when it takes a signal.
  await endAll([outcome.child], patientClock);
  expect(await outcome.child.exited).toEqual({ kind: "exited", status: 0 });
  outcome.child.release();
});

/** Sessions that throw: before a process was started, and after. */
const throwing: [string, object, string][] = [
  [
    "before there is a process",
    {
      environment: {
        get MURMUR_MUR_BINARY() {
          return fails();
        },
      },
    },
    "nothing",
  ],
  ["after there is one", { childSessions: { claim: fails } }, "a folder"],
];
test.each(throwing)(
  "a launch in which something throws %s leaves nothing behind",
  async (_, broken, left) => {
    const session = {
      ...parent().session,
      environment: { ...parent().environment, CHILD_MODE: "agent" },
      ...broken,
    };
    const asked = { ...coordinates("local/worker"), contextId: "ctx_test" };
    const attempt = () => launch(session as RegisteredSession, asked);
    await attempt();
    const before = { folders: parent().children().length, descriptors: openFiles() };
    expect(await attempt()).toMatchObject({
      kind: "failed",
      failure: { cause: "broken", message: expect.stringContaining("the caller's own mistake") },
    });
    expect(processesOf(parent().session.id)).toEqual([]);
    expect(parent().children().length - before.folders).toBe(left === "nothing" ? 0 : 1);
    await noMoreFilesThan(before.descriptors);
  },
);

test.skipIf(process.platform !== "linux")("a copy that gets no thread says so", async () => {
  using destination = scratchDirectory();
  // Whoever the program becomes may write there.
  chmodSync(destination.path, 0o777);
  const program = `
    import { withoutThreads } from "${join(import.meta.dir, "../without-threads.ts")}";
    import { openDirectoryPath } from "${join(import.meta.dir, "../../../src/sys/entries.ts")}";
    import { snapshotWorkdir } from "${join(import.meta.dir, "../../../src/runtime/snapshot/snapshot.ts")}";
    import { noMoreFilesThan, openFiles } from "${join(import.meta.dir, "../../kit/folders.ts")}";
    const held = (path) => ({ path, descriptor: openDirectoryPath(path).value, close() {} });
    const request = { source: held("/usr"), destination: held("${destination.path}"), ceilingBytes: 1, runtimeOwned: [] };
    await withoutThreads();
    const before = openFiles();
    const copied = await snapshotWorkdir(request);
    await noMoreFilesThan(before);
    console.log(JSON.stringify(copied));`;
  const parent = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    env: { ...process.env, ...ENGINE_WITHOUT_THREADS },
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(JSON.parse(await new Response(parent.stdout).text())).toEqual({
    ok: false,
    fault: { kind: "no-thread", message: expect.stringContaining("no thread could be started to copy it") },
  });
});

test("a session is refused if the C library cannot be called", async () => {
  const program = `
    import { openSession } from "${join(import.meta.dir, "../../../src/runtime/index.ts")}";
    process.argv.splice(2);
    process.argv.push(...${JSON.stringify(runArguments(world().workdir))});
    console.log(JSON.stringify(await openSession()));`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    // What happens on a host that refuses writable-executable memory.
    env: { ...parent().environment, BUN_JSC_useJIT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({
    ok: false,
    fault: { message: expect.stringContaining("this process may not call the C library") },
  });
});
