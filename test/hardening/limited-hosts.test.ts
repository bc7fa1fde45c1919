/** On hosts that forbid or limit what it needs, the daemon runs without it or says why it does not start. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { type Daemon, VERSION } from "../kit/host.ts";
import { recordOf, sleeper, startTokenOf } from "../kit/records.ts";
import { canForbidFfi, withoutFfi } from "./no-ffi.ts";
import { createOrdinaryUser, type OrdinaryUser } from "./ordinary-user.ts";

const onLinux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;

const host = sharedFamily(async (family) => {
  // Read by other users in some of these.
  chmodSync(family.home, 0o755);
  const variables = Array.from({ length: 2000 }, (_, index) => `VAR_${index}`).join(", ");
  await family.publishManifest("local/large", manifestOf("large", `  env: {allow: [${variables}]}\n`));
});

/** Every endpoint, an artifact of either size, a whole life of a session. */
async function playFormation(daemon: Daemon, id: string): Promise<void> {
  const credential = await daemon.caller.credential(`ses_${id}`, "local/parent");
  const { json } = await daemon.caller.spawn(credential, "local/child");
  const child = { session_id: `ses_child_${id}`, name: "local/child", version: VERSION };
  const registered = await daemon.caller.post("/register", child, {
    "x-murmur-spawn-approval": String(json.approval),
  });
  expect(registered.status).toBe(200);
  expect((await daemon.caller.spawn(credential, "local/large")).status).toBe(403);
  expect(
    (
      await daemon.caller.post(
        "/register",
        { ...child, name: "local/large" },
        { "x-murmur-spawn-approval": "x" },
      )
    ).status,
  ).toBe(403);
  expect((await daemon.caller.status(`ses_${id}`)).json).toMatchObject({
    status: "running",
    live_children: 1,
  });
  const ended = await daemon.caller.deregister(credential);
  expect(ended.status).toBe(200);
  const gone = await daemon.caller.deregister(String(registered.json.credential), "failed");
  expect(gone.status).toBe(200);
}

const warningsOf = (daemon: Daemon) =>
  daemon
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("mur-roost: warning: "));

for (const [what, prefix, skip] of [
  ["that forbids memory which is written and then run", withoutFfi(), !canForbidFfi],
  ["with 2 GB of address space", ["sh", "-c", 'ulimit -v 2000000 && exec "$0" "$@"'], !onLinux],
] as const) {
  test.skipIf(skip)(
    `on a host ${what} it warns about that and about each missing protection, and decides as usual`,
    async () => {
      const running = join(host().home, ".murmur", "running");
      mkdirSync(running, { recursive: true });
      const alive = sleeper();
      const record = recordOf({
        session_id: "ses_alive",
        pid: alive.pid,
        process_start: startTokenOf(alive.pid),
      });
      writeFileSync(join(running, "alive.json"), JSON.stringify(record));
      const daemon = await host().start([], { prefix });
      try {
        expect(daemon.stderr()).toMatch(/^mur-roost: warning: the C library cannot be called /);
        expect(warningsOf(daemon)).toEqual([
          expect.stringContaining(
            "this host forbids memory that is written and then run, or limits the address space",
          ),
          "mur-roost: warning: this process could not be closed to other processes of its user",
          "mur-roost: warning: core dumps of this process could not be switched off",
          "mur-roost: warning: the reporting of crashes could not be switched off",
          "mur-roost: warning: a terminal set to `tostop` may stop this process",
        ]);
        await playFormation(daemon, "first");
        // The survivor of an earlier daemon is counted as long as it runs.
        expect((await daemon.caller.status("ses_first")).json.live_capsules).toBe(1);
        await alive.end();
        expect((await daemon.caller.status("ses_first")).json.live_capsules).toBe(0);
        expect(await daemon.stop()).toBe(0);
      } finally {
        await daemon.kill("SIGKILL");
      }
    },
  );
}

describe.skipIf(!onLinux || !isRoot)(
  "with a limit of processes (skipped if the tests may not change the user)",
  () => {
    /** No other process is this user's. */
    const user = 100_000 + (process.pid % 60_000);
    const limited = (limit: number) => [
      "prlimit",
      `--nproc=${limit}`,
      "setpriv",
      `--reuid=${user}`,
      `--regid=${user}`,
      "--clear-groups",
      "--inh-caps=-all",
      "--",
    ];
    /** What the runtime may come to want. */
    const needed = 7 + Math.min(availableParallelism(), 8);

    /** Where that user may start it. */
    let stranger: OrdinaryUser;
    beforeAll(() => {
      stranger = createOrdinaryUser();
    });
    afterAll(() => stranger.remove());

    test("that is too low, it says so in one line and does not start", async () => {
      // With fewer than five the runtime itself gives up.
      for (const limit of [Math.max(5, needed - 4), needed - 1]) {
        const ended = Bun.spawnSync([...limited(limit), stranger.binary, "--port", "0"], {
          env: { HOME: host().home, PATH: process.env.PATH ?? "" },
          stderr: "pipe",
        });
        expect(ended.stderr.toString()).toMatch(
          new RegExp(
            `^mur-roost: cannot start: this process may have \\d+ threads, and it needs ${needed}; [^\\n]+\\n$`,
          ),
        );
        expect(ended.exitCode).toBe(1);
      }
    });

    test("that is just enough, it answers everybody from the first artifact on", async () => {
      const daemon = await host().start([], { prefix: limited(needed), binary: stranger.binary });
      try {
        for (let round = 0; round < 50; round++) {
          await Promise.all(
            Array.from({ length: 6 }, (_, index) => playFormation(daemon, `${round}_${index}`)),
          );
        }
        expect(await daemon.stop()).toBe(0);
      } finally {
        await daemon.kill("SIGKILL");
      }
    });
  },
);
