/** What the log tells the operator. Neither a request nor a bad stderr can use it against the daemon. */

import { expect, test } from "bun:test";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { type Daemon, VERSION } from "../kit/host.ts";
import { connectRaw, exchangeRaw, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";

const host = sharedFamily();

/** The lines of decisions, once they contain `wanted`. */
async function linesOf(daemon: Daemon, wanted: string): Promise<string[]> {
  await until(`a line with ${wanted}`, () => daemon.stderr().includes(wanted));
  return daemon
    .stderr()
    .split("\n")
    .filter((line) => /^\d{4}-/.test(line));
}

test("each decision is one line with its fields, and an envelope's line names every axis", async () => {
  await host().publishManifest(
    "local/greedy",
    manifestOf("greedy", "  shell: {allow: [sh]}\n  env: {allow: [HOME]}\n  install: {tool: ['*']}\n"),
  );
  await host().publishManifest(
    "local/parent",
    manifestOf("parent", "  spawn: {allow: [local/child, local/greedy]}\n"),
  );
  const daemon = await host().start();
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    const { json } = await daemon.caller.spawn(credential, "local/child");
    const child = { session_id: "ses_child", name: "local/child", version: VERSION };
    await daemon.caller.post("/register", child, { "x-murmur-spawn-approval": String(json.approval) });
    const refused = await daemon.caller.spawn(credential, "local/greedy");
    expect(refused.json.error).toStartWith("capabilities.shell.allow: the child declares 'sh'");
    await daemon.caller.deregister(credential, "failed");
    const lines = await linesOf(daemon, "event=deregister");
    const [root = "", spawn = "", register = "", envelope = "", deregister = ""] = lines;
    expect(lines).toHaveLength(5);
    const slots = "depth=\\d used=\\d free=\\d+";
    const start = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
    const id = "[0-9a-f]{16}";
    const like = (rest: string) => new RegExp(`${start} ${rest}`);
    expect(root).toMatch(
      like(
        `info event=register session=ses_root capsule=local/parent@0.1.0 approval=none credential=${id} ${slots}$`,
      ),
    );
    expect(spawn).toMatch(
      like(`info event=spawn session=ses_root capsule=local/child@0.1.0 approval=${id} ${slots}$`),
    );
    expect(register).toMatch(
      like(
        `info event=register session=ses_child capsule=local/child@0.1.0 approval=${id} credential=${id} ${slots}$`,
      ),
    );
    expect(envelope).toMatch(
      like(
        `warn event=spawn refused=envelope session=ses_root capsule=local/greedy@0.1.0 credential=${id} ${slots} `,
      ),
    );
    expect(envelope).toEndWith(` detail="capabilities.shell.allow: 'sh'" also=env.allow,install.tool`);
    expect(deregister).toMatch(
      like(`info event=deregister session=ses_root outcome=failed credential=${id} ${slots}$`),
    );
  } finally {
    await daemon.stop();
  }
});

test("no text of a request or a manifest forges a line or reaches the terminal unescaped", async () => {
  const forged =
    "x\n2026-01-01T00:00:00.000Z info event=register session=ses_forged\r\u001b[2J\u009b31m\u202e\u2028";
  // As a manifest may hold it: escaped in its text.
  const escaped = JSON.stringify(forged).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  await host().publishManifest(
    "local/forger",
    `name: forger\nversion: 0.1.0\ncapabilities: {shell: {allow: [${escaped}]}}\n`,
  );
  await host().publishManifest(
    "local/parent",
    manifestOf("parent", "  spawn: {allow: [local/child, local/forger]}\n"),
  );
  const daemon = await host().start();
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    const headers = { "x-murmur-spawn-credential": credential };
    expect((await daemon.caller.spawn(credential, "local/forger")).status).toBe(403);
    for (const path of ["/spawn", "/register"]) {
      for (const field of ["name", "version", "session_id"]) {
        const sound = { session_id: "ses_y", name: "local/child", version: VERSION };
        await daemon.caller.post(path, { ...sound, [field]: forged }, headers);
      }
    }
    await daemon.caller.post("/deregister", { outcome: forged }, headers);
    for (const path of ["/%0a2026", `/status/${encodeURIComponent(forged)}`]) await daemon.caller.send(path);
    for (const more of [
      ["Origin", "\x1b[2Jx\x9b31m"],
      ["x-murmur-spawn-credential", "\x1b]0;x\x07\x9b"],
    ] as const) {
      const body = JSON.stringify({ name: "local/child", version: VERSION });
      await exchangeRaw(daemon.port, requestBytes({ method: "POST", path: "/spawn", headers: [more], body }));
    }
    await exchangeRaw(daemon.port, requestBytes({ path: "/\x1b[2J\x9b31m" }));
    await daemon.caller.post("/deregister", { outcome: "complete" }, headers);
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

/** More than are shown in a second. Each is refused without a token. */
const REFUSED = Array.from({ length: 150 }, (_, index) =>
  index % 2 === 0
    ? requestBytes({ path: "/nowhere" })
    : requestBytes({ method: "POST", path: "/spawn", body: '{"name":"local/child","version":"9"}' }),
);

/** Sends each on a connection of its own while the daemon is stopped, so that it finds all of them together. */
async function sendAtOnce(daemon: Daemon, requests: readonly string[]): Promise<void> {
  const connections = await Promise.all(requests.map(() => connectRaw(daemon.port)));
  process.kill(daemon.pid, "SIGSTOP");
  try {
    for (const [index, connection] of connections.entries()) connection.send(requests[index] ?? "");
  } finally {
    process.kill(daemon.pid, "SIGCONT");
  }
  await Promise.all(connections.map((connection) => connection.answer()));
  for (const connection of connections) connection.close();
}

test("above a number per second, refusals without a token are only counted, and every grant is logged", async () => {
  const daemon = await host().start();
  try {
    const registered = new Set<string>();
    let sent = 0;
    const sendMore = async () => {
      await sendAtOnce(daemon, REFUSED);
      await daemon.caller.credential(`ses_${sent}`, "local/parent");
      registered.add(`ses_${sent}`);
      sent += REFUSED.length;
    };
    const counted = () =>
      [...daemon.stderr().matchAll(/event=refusals-not-shown count=(\d+)\n/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    const shown = () => daemon.stderr().match(/ refused=(?:not-found|identity) /g)?.length ?? 0;
    const granted = () => [...daemon.stderr().matchAll(/ event=register session=(ses_\d+) /g)];
    for (let round = 0; round < 2; round++) {
      const before = counted();
      // Again if the second ended among them, on a busy machine.
      await until("some are only counted", async () => {
        await sendMore();
        await until("every refusal is shown or counted", () => shown() + counted() === sent);
        return counted() > before;
      });
    }
    await until("the last grant is shown", () => granted().length >= registered.size);
    expect(new Set(granted().map(([, id]) => id ?? ""))).toEqual(registered);
  } finally {
    await daemon.stop();
  }
});

test("no header makes a line of the log long", async () => {
  const daemon = await host().start();
  try {
    // What the parser lets through: control characters that are written as six characters each.
    const long = "\x9b".repeat(3000);
    const statuses: (number | undefined)[] = [];
    for (const request of [
      { path: "/health", headers: [["Origin", long]] as const },
      { path: "/health", host: long },
      { path: `/${"x".repeat(3000)}`, headers: [["Origin", "x"]] as const },
    ]) {
      statuses.push((await exchangeRaw(daemon.port, requestBytes(request)))?.status);
    }
    expect(statuses).toEqual([403, 403, 403]);
    await until("all three", () => daemon.stderr().match(/refused=foreign-caller/g)?.length === 3);
    const lines = await linesOf(daemon, "refused=foreign-caller");
    for (const line of lines) {
      for (const [, value = ""] of line.matchAll(/ \w+=("(?:[^"\\]|\\.)*"|\S*)/g)) {
        expect(Buffer.byteLength(value)).toBeLessThanOrEqual(256);
      }
    }
  } finally {
    await daemon.stop();
  }
});
