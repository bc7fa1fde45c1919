/** What the operator is told, and that neither a request nor a bad stderr can turn it against the daemon. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { DaemonProcess } from "../kit/daemon-process.ts";
import { exchangeRaw, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import {
  ask,
  askSpawn,
  BINARY,
  createHome,
  type Home,
  manifestOf,
  registerRoot,
  startCompiled,
  VERSION,
} from "./kit.ts";

let home: Home;

beforeAll(async () => {
  home = await createHome();
});
afterAll(() => home.remove());

/** The lines of decisions, once `wanted` stands among them. */
async function linesOf(daemon: DaemonProcess, wanted: string): Promise<string[]> {
  await until(`a line with ${wanted}`, () => daemon.stderr().includes(wanted));
  return daemon
    .stderr()
    .split("\n")
    .filter((line) => /^\d{4}-/.test(line));
}

test("each decision is one line with its fields, and an envelope's line names every axis", async () => {
  await home.publish(
    "local/greedy",
    manifestOf("greedy", "  shell: {allow: [sh]}\n  env: {allow: [HOME]}\n  install: {tool: ['*']}\n"),
  );
  await home.publish("local/parent", manifestOf("parent", "  spawn: {allow: [local/child, local/greedy]}\n"));
  const daemon = await startCompiled(home);
  try {
    const credential = await registerRoot(daemon, "ses_root");
    const { body } = await askSpawn(daemon, credential);
    const child = { session_id: "ses_child", name: "local/child", version: VERSION };
    await ask(daemon, "/register", child, { "x-murmur-spawn-approval": String(body.approval) });
    const refused = await askSpawn(daemon, credential, "local/greedy");
    expect(refused.body.error).toStartWith("capabilities.shell.allow: the child declares 'sh'");
    await ask(daemon, "/deregister", { outcome: "failed" }, { "x-murmur-spawn-credential": credential });
    const lines = await linesOf(daemon, "event=deregister");
    const [root = "", spawn = "", register = "", envelope = "", deregister = ""] = lines;
    expect(lines).toHaveLength(5);
    const slots = "depth=\\d used=\\d free=\\d+";
    const start = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
    const id = "[0-9a-f]{16}";
    const like = (rest: string) => new RegExp(`${start} ${rest}`);
    expect(root).toMatch(
      like(
        `info event=register session=ses_root capsule=local/parent@1.0.0 approval=none credential=${id} ${slots}$`,
      ),
    );
    expect(spawn).toMatch(
      like(`info event=spawn session=ses_root capsule=local/child@1.0.0 approval=${id} ${slots}$`),
    );
    expect(register).toMatch(
      like(
        `info event=register session=ses_child capsule=local/child@1.0.0 approval=${id} credential=${id} ${slots}$`,
      ),
    );
    expect(envelope).toMatch(
      like(
        `warn event=spawn refused=envelope session=ses_root capsule=local/greedy@1.0.0 credential=${id} ${slots} `,
      ),
    );
    for (const axis of ["capabilities.shell.allow", "capabilities.env.allow", "capabilities.install.tool"]) {
      expect(envelope).toContain(axis);
    }
    expect(deregister).toMatch(
      like(`info event=deregister session=ses_root outcome=failed credential=${id} ${slots}$`),
    );
  } finally {
    await daemon.stop();
  }
});

test("no text of a request or a manifest forges a line, or reaches the terminal as it is", async () => {
  const forged =
    "x\n2026-01-01T00:00:00.000Z info event=register session=ses_forged\r\u001b[2J\u009b31m\u202e\u2028";
  // As a manifest may hold it: escaped in its text.
  const escaped = JSON.stringify(forged).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  await home.publish(
    "local/forger",
    `name: forger\nversion: 1.0.0\ncapabilities: {shell: {allow: [${escaped}]}}\n`,
  );
  await home.publish("local/parent", manifestOf("parent", "  spawn: {allow: [local/child, local/forger]}\n"));
  const daemon = await startCompiled(home);
  try {
    const credential = await registerRoot(daemon, "ses_root");
    const headers = { "x-murmur-spawn-credential": credential };
    expect((await askSpawn(daemon, credential, "local/forger")).status).toBe(403);
    for (const path of ["/spawn", "/register"]) {
      for (const field of ["name", "version", "session_id"]) {
        const sound = { session_id: "ses_y", name: "local/child", version: VERSION };
        await ask(daemon, path, { ...sound, [field]: forged }, headers);
      }
    }
    await ask(daemon, "/deregister", { outcome: forged }, headers);
    for (const path of ["/%0a2026", `/status/${encodeURIComponent(forged)}`]) await ask(daemon, path);
    for (const more of [
      ["Origin", "\x1b[2Jx\x9b31m"],
      ["x-murmur-spawn-credential", "\x1b]0;x\x07\x9b"],
    ] as const) {
      const body = JSON.stringify({ name: "local/child", version: VERSION });
      await exchangeRaw(daemon.port, requestBytes({ method: "POST", path: "/spawn", headers: [more], body }));
    }
    await exchangeRaw(daemon.port, requestBytes({ path: "/\x1b[2J\x9b31m" }));
    await ask(daemon, "/deregister", { outcome: "complete" }, headers);
    await linesOf(daemon, "event=deregister session=ses_root outcome=complete");
    const said = daemon.stderr();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
    expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
    const lines = said.trimEnd().split("\n");
    expect(lines.filter((line) => !/^(mur-roost: |\d{4}-\S+Z (info|warn) event=)/.test(line))).toEqual([]);
    expect(
      lines.filter(
        (line) => / event=register session=ses_forged$/.test(line) && line.startsWith("2026-01-01"),
      ),
    ).toEqual([]);
  } finally {
    await daemon.stop();
  }
});

/** A free port, for a daemon whose stderr says nothing. */
function freePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  server.stop(true);
  return server.port;
}

/** Refusals that each make a line, until there are so many. */
async function flood(port: number, count: number): Promise<void> {
  const body = { name: "local/child", version: "v".repeat(100) };
  for (let sent = 0; sent < count; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask({ port }, "/spawn", body)));
    expect(answers.every(({ status }) => status === 403)).toBe(true);
  }
}

const FLOOD = 8000;

test("a stderr that nobody reads never stops the daemon, and what was dropped is counted", async () => {
  const port = freePort();
  const fifo = join(home.path, "stderr");
  expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
  // Opened for reading and writing, so that neither end waits for the other; nobody reads.
  const held = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const daemon = Bun.spawn([BINARY, "--port", String(port)], {
    env: { HOME: home.path, PATH: process.env.PATH ?? "" },
    stdio: ["ignore", "ignore", held],
  });
  try {
    await until("the daemon answers", () => isAnswering(port));
    await flood(port, FLOOD);
    expect((await ask({ port }, "/health")).status).toBe(200);
    let said = "";
    const room = Buffer.alloc(65_536);
    await until("the lines that were dropped are counted", async () => {
      try {
        said += room.toString("utf8", 0, readSync(held, room, 0, room.length, null));
      } catch {
        // Nothing there yet: another decision makes another line.
        await flood(port, 50);
      }
      return /event=log-lines-dropped count=\d+/.test(said);
    });
    const dropped = Number(/event=log-lines-dropped count=(\d+)/.exec(said)?.[1]);
    expect(dropped).toBeGreaterThan(0);
    expect(dropped).toBeLessThan(FLOOD);
  } finally {
    daemon.kill("SIGTERM");
    expect(await daemon.exited).toBe(0);
    closeSync(held);
  }
}, 30_000);

const isAnswering = (port: number) =>
  ask({ port }, "/health").then(
    () => true,
    () => false,
  );

for (const [what, redirection] of [
  ["is closed", "2>&-"],
  ["is full", "2>/dev/full"],
  ["has no reader", "2>&1 >/dev/null | true"],
] as const) {
  test.skipIf(process.platform !== "linux")(`a stderr that ${what} never stops the daemon`, async () => {
    const port = freePort();
    const script = `echo $$; exec "$0" --port "$1" ${redirection}`;
    const piped = redirection.includes("|");
    const child = Bun.spawn(
      ["sh", "-c", piped ? `"$0" --port "$1" ${redirection} & wait` : script, BINARY, String(port)],
      {
        env: { HOME: home.path, PATH: process.env.PATH ?? "" },
        stdio: ["ignore", "ignore", "ignore"],
        detached: true,
      },
    );
    try {
      await until("the daemon answers", () => isAnswering(port));
      await flood(port, 200);
      expect((await ask({ port }, "/health")).status).toBe(200);
    } finally {
      // The shell, and the daemon it started: a group of their own.
      process.kill(-child.pid, "SIGTERM");
    }
  });
}
