import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { defaultCeiling } from "../../src/referee/bounds.ts";
import { compiledBinary } from "../kit/binary.ts";
import { createHost, spawns } from "../kit/host.ts";
import { recordOf, sleeper, startTokenOf, writeRecord } from "../kit/records.ts";
import { until } from "../kit/until.ts";

/** Runs the executable to its end. */
function run(args: string[], env: Record<string, string>, options: { stdout?: number } = {}) {
  const ended = Bun.spawnSync([compiledBinary(), ...args], {
    env,
    stdout: options.stdout ?? "pipe",
    stderr: "pipe",
    timeout: 20_000,
  });
  return { code: ended.exitCode, stdout: ended.stdout?.toString() ?? "", stderr: ended.stderr.toString() };
}

const UNCOUNTED = "mur-roost: cannot count the capsules already running on this host: ";

describe("the executable", () => {
  test("prints exactly its three lines, and nothing on stdout", async () => {
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
    [{}, "the home directory could not be resolved: HOME is not set in the environment\n"],
    [{ HOME: "" }, "the home directory could not be resolved: HOME is empty\n"],
    [{ HOME: "here" }, "the home directory could not be resolved: HOME is not an absolute path\n"],
  ])("does not start with %j", (env, fault) => {
    expect(run(["--port", "0", "--registry-path", "/tmp"], env)).toEqual({
      code: 1,
      stdout: "",
      stderr: UNCOUNTED + fault,
    });
  });

  test("does not start if HOME is not UTF-8, because another directory would be counted", () => {
    const shell = ["sh", "-c", 'HOME=$(printf "/tmp/\\377") exec "$0" --port 0', compiledBinary()];
    const ended = Bun.spawnSync(shell, { stderr: "pipe", timeout: 20_000 });
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr.toString()).toBe(
      `${UNCOUNTED}the home directory could not be resolved: HOME is not valid UTF-8\n`,
    );
  });

  test("does not start if the running directory cannot be listed", async () => {
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

  test.each([".murmur/running", ".murmur", "."])(
    "does not start if %s is a dangling link, because its target cannot be listed",
    async (link) => {
      await using host = createHost();
      const home = join(host.home, "home");
      const path = join(home, link);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(join(host.home, "not-there"), path);
      expect(run(["--port", "0"], { HOME: home })).toEqual({
        code: 1,
        stdout: "",
        stderr: `${UNCOUNTED}${home}/.murmur/running: No such file or directory (os error 2)\n`,
      });
    },
  );

  test("names the resolved path of a missing registry after its three lines", async () => {
    await using host = createHost();
    for (const [args, path] of [
      [[], host.registry],
      [["--registry-path=~/artifacts"], join(host.home, "~/artifacts")],
    ] as const) {
      const daemon = await host.start(args);
      await until("the line is there", () => daemon.stderr().split("\n").length > 4);
      expect(daemon.stderr().split("\n").slice(3)).toEqual([
        `mur-roost: warning: no artifact can be read from the registry: ${path}: No such file or directory (os error 2)`,
        "",
      ]);
      await daemon.stop();
    }
  });

  test("exits with 0, no matter how many signals tell it to end", async () => {
    await using host = createHost();
    const daemon = await host.start();
    const socket = connect(daemon.port, "127.0.0.1");
    // An answer that is not due yet keeps it from ending at once.
    socket.write(`POST /spawn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{`);
    let answered = "";
    socket.on("data", (bytes) => {
      answered += bytes;
    });
    const closed = Promise.race([once(socket, "end"), once(socket, "error")]);
    await once(socket, "connect");
    const ended = daemon.kill("SIGTERM");
    for (const signal of ["SIGTERM", "SIGINT", "SIGTERM"] as const) process.kill(daemon.pid, signal);
    expect(await ended).toBe(0);
    // It did not become due in time.
    await closed;
    expect(answered).toBe("");
    socket.destroy();
  });

  test("keeps its port, and a second daemon says why it cannot use it", async () => {
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
});

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

  test.each(["SIGTERM", "SIGINT"] as const)("that takes long is ended by %s, with 0", async (signal) => {
    await using host = createHost();
    const running = join(host.home, ".murmur", "running");
    mkdirSync(running, { recursive: true });
    // Seconds of reading: one large record, under many names.
    const record = join(running, "0.json");
    const text = JSON.stringify(recordOf({ session_id: "ses_a", pid: 1, process_start: "1" }));
    writeFileSync(record, text.padEnd(1024 * 1024));
    for (let name = 1; name < 2000; name++) linkSync(record, join(running, `${name}.json`));
    const daemon = Bun.spawn([compiledBinary(), "--port", "0"], {
      // Makes it say a warning immediately before it counts.
      env: { HOME: host.home, BUN_OPTIONS: "" },
      stderr: "pipe",
    });
    let said = "";
    for await (const chunk of daemon.stderr.pipeThrough(new TextDecoderStream())) {
      said += chunk;
      if (said.includes("\n")) daemon.kill(signal);
    }
    expect(said).toMatch(/^mur-roost: warning: BUN_OPTIONS is set[^\n]*\n$/);
    expect(await daemon.exited).toBe(0);
    expect(daemon.signalCode).toBeNull();
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

test("--version fails with a line on a full disk, and succeeds if the reader went away", () => {
  const full = openSync("/dev/full", "w");
  const ended = run(["--version"], {}, { stdout: full });
  closeSync(full);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toBe(
    "error[E-IO-003]: failed to write to standard output: No space left on device (os error 28)\n",
  );
  const piped = Bun.spawnSync(["sh", "-c", '("$0" --version; echo $? >&2) | true', compiledBinary()], {
    stderr: "pipe",
  });
  expect(piped.stderr.toString()).toBe("0\n");
});
