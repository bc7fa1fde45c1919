/** What the executable counts of the capsules that ran before it. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { compiledBinary } from "../kit/binary.ts";
import { createHost, publishCapsule, spawns } from "../kit/host.ts";
import { recordOf, sleeper, startTokenOf, writeRecord } from "../kit/records.ts";
import { until } from "../kit/until.ts";

// The daemon starts slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

describe("the census at startup", () => {
  test("counts running processes, and leaves every record and mode as it was", async () => {
    await using host = createHost();
    const children = [sleeper(), sleeper()];
    for (const { pid } of children) {
      writeRecord(host.home, { session_id: `ses_${pid}`, pid, process_start: startTokenOf(pid) });
    }
    writeRecord(host.home, { session_id: "ses_stale", pid: children[0]?.pid ?? 0, process_start: "1" });
    const running = join(host.home, ".murmur", "running");
    writeFileSync(join(running, "broken.json"), "{");
    chmodSync(running, 0o755);
    const before = snapshot(running);
    await host.publish("local/root", spawns("local/root"));
    const daemon = await host.start(["--spawn-allow", "local/root", "--max-live-capsules", "4"]);
    expect(daemon.stderr()).toMatch(
      /^mur-roost: 2 live capsules .*\(4 records read in \d+\.\d ms; 1 stale and 1 unreadable not counted\)$/m,
    );

    const { caller } = daemon;
    const root = await caller.credential("ses_root", "local/root");
    await caller.approval(root, "local/root");
    expect((await caller.spawn(root, "local/root")).json.error).toContain("already holding 4");
    await children[0]?.end();
    expect((await caller.status("ses_root")).json.live_capsules).toBe(3);
    expect((await caller.spawn(root, "local/root")).status).toBe(200);
    await children[1]?.end();
    await daemon.stop();
    expect(snapshot(running)).toEqual(before);
  });

  test.if(process.platform === "linux")("counts a record whose name is not UTF-8", async () => {
    await using host = createHost();
    const child = sleeper();
    writeRecord(host.home, { session_id: "ses_a", pid: child.pid, process_start: startTokenOf(child.pid) });
    const running = join(host.home, ".murmur", "running");
    renameSync(join(running, "ses_a.json"), Buffer.from(`${running}/\xff.json`, "latin1"));
    const daemon = await host.start();
    expect(daemon.stderr()).toMatch(
      /^mur-roost: 1 live capsules .*; 0 stale and 0 unreadable not counted\)$/m,
    );
    await child.end();
    await daemon.stop();
  });

  test("counts below the HOME that the kernel finds, if a link stands before a ..", async () => {
    await using host = createHost();
    const home = join(host.home, "elsewhere");
    mkdirSync(join(home, "deep"), { recursive: true });
    symlinkSync(join(home, "deep"), join(host.home, "link"));
    const child = sleeper();
    writeRecord(home, { session_id: "ses_a", pid: child.pid, process_start: startTokenOf(child.pid) });
    await publishCapsule(join(home, ".murmur", "artifacts"), "local/root");
    const behind = `${host.home}/link/..`;
    for (const registry of [[], ["--registry-path", "link/../.murmur/artifacts"]]) {
      const daemon = await host.start(["--spawn-allow", "local/root", ...registry], {
        prefix: ["env", `HOME=${behind}`],
      });
      expect(daemon.stderr()).toStartWith(
        `mur-roost: 1 live capsules already running on this host, counted from ${behind}/.murmur/running (`,
      );
      expect((await daemon.caller.register("ses_root", "local/root")).status).toBe(200);
      await daemon.stop();
    }
    await child.end();
  });

  test.each(["SIGTERM", "SIGINT"] as const)("that takes long is ended by %s, with 0", async (signal) => {
    await using host = createHost();
    const running = join(host.home, ".murmur", "running");
    mkdirSync(running, { recursive: true });
    // Seconds of reading: one large record, under many names.
    const record = join(running, "0.json");
    const text = JSON.stringify(recordOf({ session_id: "ses_a", pid: 1, process_start: "1" }));
    writeFileSync(record, text.padEnd(1024 * 1024));
    for (let name = 1; name < 2000; name++) linkSync(record, join(running, `${name}.json`));
    let ended: Bun.Subprocess | undefined;
    let said = "";
    // Again if a busy machine let it finish before this process heard of its start.
    await until("it is told while it counts", async () => {
      const daemon = Bun.spawn([compiledBinary(), "--port", "0"], {
        // Makes it say a warning immediately before it counts.
        env: { HOME: host.home, BUN_OPTIONS: "" },
        stderr: "pipe",
      });
      ended = daemon;
      said = "";
      for await (const chunk of daemon.stderr.pipeThrough(new TextDecoderStream())) {
        said += chunk;
        if (said.includes("\n")) daemon.kill(signal);
      }
      return !said.includes("live capsules already running");
    });
    expect(said).toMatch(/^mur-roost: warning: BUN_OPTIONS is set[^\n]*\n$/);
    expect(await ended?.exited).toBe(0);
    expect(ended?.signalCode).toBeNull();
  });
});

test("leaves descriptors for clients on a host full of survivors", async () => {
  await using host = createHost();
  const child = sleeper();
  const process_start = startTokenOf(child.pid);
  for (let index = 0; index < 400; index++) {
    writeRecord(host.home, { session_id: `ses_${index}`, pid: child.pid, process_start });
  }
  await host.publish("local/root");
  const prefix = ["sh", "-c", 'ulimit -n 300; exec "$0" "$@"'];
  const daemon = await host.start(["--spawn-allow", "local/root"], { prefix });
  const { caller } = daemon;
  expect(daemon.stderr()).toContain("400 live capsules");
  expect((await caller.register("ses_root", "local/root")).status).toBe(200);
  expect((await caller.status("ses_root")).json.live_capsules).toBe(401);
  await child.end();
  expect((await caller.status("ses_root")).json.live_capsules).toBe(1);
  await daemon.stop();
});

function snapshot(directory: string): string[] {
  return ["", ...readdirSync(directory).sort()].map((name) => {
    const { mode, mtimeMs, ino, size } = statSync(join(directory, name));
    return [name, mode, mtimeMs, ino, size].join(" ");
  });
}
