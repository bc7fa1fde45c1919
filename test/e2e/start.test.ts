import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { defaultCeiling } from "../../src/daemon.ts";
import { startDaemonProcess } from "../kit/daemon-process.ts";
import { Caller, createHost, EXECUTABLE, spawns } from "../kit/host.ts";
import { sleeper, startTokenOf, writeRecord } from "../kit/records.ts";

/** Runs the executable to its end. */
function run(args: string[], env: Record<string, string>, options: { stdout?: number } = {}) {
  const ended = Bun.spawnSync([EXECUTABLE, ...args], {
    env,
    stdout: options.stdout ?? "pipe",
    stderr: "pipe",
    timeout: 20_000,
  });
  return { code: ended.exitCode, stdout: ended.stdout?.toString() ?? "", stderr: ended.stderr.toString() };
}

const UNCOUNTED = "mur-roost: cannot count the capsules already running on this host: ";

describe("the executable", () => {
  test("prints its three lines to the letter, and nothing on stdout", async () => {
    await using host = createHost();
    const daemon = await host.start();
    const lines = daemon.stderr().split("\n");
    expect(lines[0]).toMatch(
      /^mur-roost: 0 live capsules already running on this host, counted from (.+)\/\.murmur\/running \(0 records read in \d+\.\d ms; 0 stale and 0 unreadable not counted\)$/,
    );
    expect(lines[0]).toContain(`counted from ${host.home}/.murmur/running (`);
    expect(lines[1]).toBe(`mur-roost: listening on 127.0.0.1:${daemon.port}`);
    expect(lines[2]).toBe(
      `mur-roost: machine ceiling ${defaultCeiling(availableParallelism())} live capsules (--max-live-capsules)`,
    );
    expect(await daemon.stop()).toBe(0);
    expect(await daemon.stdout()).toBe("");
    expect(readdirSync(join(host.home))).toEqual([]);
  });

  test("derives the ceiling from the cores, between 16 and 256", () => {
    expect([1, 2, 4, 32, 64].map(defaultCeiling)).toEqual([16, 16, 32, 256, 256]);
  });

  test("prints its version without binding a port or needing a home", () => {
    expect(run(["--version"], {})).toEqual({ code: 0, stdout: `mur-roost ${version}\n`, stderr: "" });
  });

  test("refuses an unknown argument with a line of usage", () => {
    const ended = run(["--max-total", "5"], {});
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^mur-roost: unknown argument: --max-total\nusage: mur-roost [^\n]+\n$/);
  });

  test.each([
    [{}, "the home directory could not be resolved: HOME is not set\n"],
    [{ HOME: "" }, "the home directory could not be resolved: HOME is empty\n"],
    [{ HOME: "here" }, "the home directory could not be resolved: HOME is not an absolute path\n"],
  ])("does not start with %j", (env, fault) => {
    expect(run(["--port", "0", "--registry-path", "/tmp"], env)).toEqual({
      code: 1,
      stdout: "",
      stderr: UNCOUNTED + fault,
    });
  });

  test("does not start where the running directory cannot be listed", async () => {
    await using host = createHost();
    mkdirSync(join(host.home, ".murmur"));
    const running = join(host.home, ".murmur", "running");
    writeFileSync(running, "");
    const ended = run(["--port", "0"], { HOME: host.home });
    expect(ended).toEqual({
      code: 1,
      stdout: "",
      stderr: `${UNCOUNTED}${running}: Not a directory (os error 20)\n`,
    });
  });

  test("takes its port for itself: a second daemon says why it cannot have it", async () => {
    await using host = createHost();
    const first = await host.start();
    const second = run(["--port", String(first.port)], { HOME: host.home });
    expect(second.code).toBe(1);
    expect(second.stderr.split("\n").slice(1)).toEqual([
      `mur-roost: failed to bind port ${first.port}: Address already in use (os error ${process.platform === "darwin" ? 48 : 98})`,
      "",
    ]);
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "ends with 0 on %s, also with connections open",
    async (signal) => {
      await using host = createHost();
      const daemon = await host.start();
      const socket = connect(daemon.port, "127.0.0.1");
      socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${daemon.port}\r\n\r\n`);
      await once(socket, "data");
      const ended = once(socket.resume(), "end");
      expect(await daemon.kill(signal)).toBe(0);
      await ended;
    },
  );

  test("is not stopped by a stderr that is closed or full", async () => {
    await using host = createHost();
    await host.publish("local/root");
    for (const redirect of ["2>&-", "2>/dev/full"]) {
      const port = await freePort();
      const shell = Bun.spawn(
        ["sh", "-c", `exec "$0" --port ${port} --spawn-allow local/root ${redirect}`, EXECUTABLE],
        { env: { HOME: host.home }, stdio: ["ignore", "ignore", "ignore"] },
      );
      const caller = new Caller((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init));
      await answers(caller);
      expect((await caller.register("ses_1", "local/root")).status).toBe(200);
      shell.kill("SIGTERM");
      expect(await shell.exited).toBe(0);
    }
  });
});

describe("the census at startup", () => {
  test("counts what runs, and leaves every record and mode as it found it", async () => {
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

    const caller = Caller.of(daemon);
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
});

test("a host full of survivors leaves descriptors for those who ask", async () => {
  await using host = createHost();
  const child = sleeper();
  const process_start = startTokenOf(child.pid);
  for (let index = 0; index < 400; index++) {
    writeRecord(host.home, { session_id: `ses_${index}`, pid: child.pid, process_start });
  }
  await host.publish("local/root");
  const daemon = await startDaemonProcess({
    command: ["sh", "-c", 'ulimit -n 300; exec "$0" "$@"', EXECUTABLE],
    args: ["--port", "0", "--spawn-allow", "local/root"],
    home: host.home,
  });
  const caller = Caller.of(daemon);
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

async function freePort(): Promise<number> {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

async function answers(caller: Caller): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answer = await caller.send("/health").catch(() => undefined);
    if (answer?.text === "{}") return;
    if (Date.now() > deadline) throw new Error("the daemon never answered");
    await Bun.sleep(20);
  }
}

test("--version to a disk that is full fails with a line; to a reader that went away it does not", () => {
  const full = openSync("/dev/full", "w");
  const ended = run(["--version"], {}, { stdout: full });
  closeSync(full);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toBe(
    "mur-roost: the version could not be written to standard output: No space left on device (os error 28)\n",
  );
  const piped = Bun.spawnSync(["sh", "-c", '("$0" --version; echo $? >&2) | true', EXECUTABLE], {
    stderr: "pipe",
  });
  expect(piped.stderr.toString()).toBe("0\n");
});
