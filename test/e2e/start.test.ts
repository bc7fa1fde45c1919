import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { defaultCeiling } from "../../src/referee/bounds.ts";
import { compiledBinary } from "../kit/binary.ts";
import { createHost } from "../kit/host.ts";
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

  // The framework's own parser throws at these.
  test.each(["--no-_", "--_", "-max_depth"])("refuses %s like any other", (argument) => {
    const { code, stdout, stderr } = run([argument, "3"], {});
    expect([code, stdout]).toEqual([1, ""]);
    const [first, second, ...rest] = stderr.split("\n");
    expect(first).toBe(`mur-roost: unknown argument: ${argument}`);
    expect(second).toStartWith("usage: mur-roost ");
    expect(rest).toEqual([""]);
    expect(run(["--version", argument], {})).toMatchObject({ code: 0, stderr: "" });
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
    // It is closed, or reset: the daemon may end before it has read all of the request.
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
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
