/** What may be read of the daemon: no token and no key in what it writes, and nothing that it sends. */

import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createFamily } from "../kit/family.ts";
import { type Daemon, type Host, VERSION } from "../kit/host.ts";
import { exchangeRaw, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";

const onLinux = process.platform === "linux";

/** A daemon that has answered every kind of request, and every token that it issued. */
async function playFormation(daemon: Daemon): Promise<readonly string[]> {
  const tokens: string[] = [];
  const root = await daemon.caller.credential("ses_root", "local/parent");
  const granted = await daemon.caller.spawn(root, "local/child");
  const approval = String(granted.json.approval);
  const child = { session_id: "ses_child", name: "local/child", version: VERSION };
  const credential = await daemon.caller.post("/register", child, { "x-murmur-spawn-approval": approval });
  tokens.push(root, approval, String(credential.json.credential));
  const twin = { ...child, session_id: "ses_twin" };
  for (const presented of [...tokens, `${root.slice(0, -4)}AAAA`, "msc1.e30.AAAA"]) {
    for (const path of ["/spawn", "/register", "/deregister"]) {
      for (const header of ["x-murmur-spawn-credential", "x-murmur-spawn-approval"]) {
        const body = path === "/deregister" ? { outcome: "nothing" } : twin;
        await daemon.caller.post(path, body, { [header]: presented });
      }
    }
    for (const form of formsOf(presented)) {
      for (const path of [`/status/${form}`, `/${form}`, `/x/${form}`, `/%2f${form}`])
        await daemon.caller.send(path);
      for (const field of ["session_id", "name", "version"]) {
        await daemon.caller.post("/register", { ...twin, [field]: form });
        await daemon.caller.post("/spawn", { ...twin, [field]: form }, { "x-murmur-spawn-credential": root });
      }
      await daemon.caller.register("ses_other", "local/parent", undefined, form);
      await daemon.caller.register("ses_other", "local/child", "", form);
      await daemon.caller.post("/deregister", { outcome: form }, { "x-murmur-spawn-credential": root });
      const headers: [string, string][] = [["Origin", form]];
      await exchangeRaw(daemon.port, requestBytes({ path: "/health", headers }));
    }
  }
  // A session may have any id, and this one is shown on each of its lines.
  const odd = await daemon.caller.credential(root.slice("msc1.".length), "local/parent");
  await daemon.caller.spawn(odd, "local/child", "9");
  await daemon.caller.deregister(odd);
  await daemon.caller.deregister(root);
  return tokens;
}

/** Ways to write a token from which it is easily made again. */
function formsOf(token: string): readonly string[] {
  return [
    token,
    token.replaceAll(".", "%2E"),
    token.replaceAll(".", "%252e"),
    token.replace("m", "%6d"),
    swapped(token),
    // Without its tag, which everybody knows; and its payload alone.
    token.slice("msc1.".length),
    token.split(".")[1] ?? "",
  ];
}

function swapped(token: string): string {
  return token.replace(/[a-z]/gi, (letter) => {
    const upper = letter.toUpperCase();
    return letter === upper ? letter.toLowerCase() : upper;
  });
}

/** Every file below a directory, with all that a change to it would change. */
function snapshot(directory: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(directory, name);
    const { mode, mtimeMs, ino, size } = statSync(path);
    const hash = statSync(path).isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
    files[name] = [mode, mtimeMs, ino, size, hash].join(" ");
  }
  return files;
}

describe("tokens and keys", () => {
  for (const end of ["SIGTERM", "SIGABRT"] as const) {
    test(`appear in no log, argument or file until it ends by ${end}`, async () => {
      await using host = await createFamily();
      mkdirSync(join(host.home, ".murmur", "running"));
      const before = snapshot(host.home);
      const daemon = await host.start();
      const tokens = await playFormation(daemon);
      const argv = onLinux ? readFileSync(`/proc/${daemon.pid}/cmdline`, "utf8") : "";
      await daemon.kill(end);
      expect(snapshot(host.home)).toEqual(before);
      expect(tokens).toHaveLength(3);
      const said = daemon.stderr() + argv;
      expect(said).toContain("event=register");
      for (const token of tokens) {
        // The whole token, and each part that could be used: its payload and its MAC.
        for (const part of [token, ...token.split(".").slice(1)]) {
          expect(said).not.toContain(part);
          expect(said).not.toContain(swapped(part));
        }
      }
    });
  }
});

const strace = Bun.which("strace");

describe.skipIf(!strace || !onLinux)("connections of its own (skipped where there is no strace)", () => {
  /** Starts a daemon under strace, plays a formation, ends it by the signal; gives the system calls that were made. */
  async function trace(host: Host, end: NodeJS.Signals, env: Record<string, string>): Promise<string[]> {
    const out = join(host.home, `calls-${end}`);
    const calls = "trace=socket,connect,execve,execveat,fork,vfork,bind";
    // -D: the tracer is the child, so that the daemon's pid and end are its own.
    const daemon = await host.start([], {
      prefix: ["strace", "-D", "-f", "-q", "-o", out, "-e", calls],
      env,
    });
    await playFormation(daemon);
    await daemon.kill(end);
    const ended = new RegExp(`^${daemon.pid} +\\+\\+\\+ (exited|killed)`, "m");
    await until(
      "strace has written everything",
      () => existsSync(out) && ended.test(readFileSync(out, "utf8")),
    );
    return readFileSync(out, "utf8")
      .split("\n")
      .map((line) => line.replace(/^\d+ +/, ""))
      .filter((line) => /^(socket|connect|exec|v?fork|bind)/.test(line));
  }

  for (const end of ["SIGTERM", "SIGABRT", "SIGSEGV"] as const) {
    for (const env of [
      {},
      // What would make the runtime report its crash.
      { BUN_ENABLE_CRASH_REPORTING: "1", BUN_CRASH_REPORT_URL: "http://127.0.0.1:9/" },
    ]) {
      test(`there are none from the start to ${end}${"BUN_CRASH_REPORT_URL" in env ? ", even when asked for" : ""}`, async () => {
        await using host = await createFamily();
        const calls = await trace(host, end, env);
        expect(calls.filter((call) => call.startsWith("connect"))).toEqual([]);
        expect(calls.filter((call) => call.startsWith("exec"))).toHaveLength(1);
        expect(calls.filter((call) => /fork/.test(call))).toEqual([]);
        // The one that listens, on loopback alone; an ordinary user's tracer cannot look into the closed process.
        expect(calls.filter((call) => call.startsWith("socket"))).toHaveLength(1);
        expect(calls.filter((call) => call.startsWith("bind"))).toEqual([
          expect.stringMatching(/inet_addr\("127\.0\.0\.1"\)|^bind\(\d+, 0x[0-9a-f]+, 16\)/),
        ]);
      });
    }
  }
});
