/** `kill -9` in the middle of a load: what the next daemon knows is what runs, and nothing that was. */

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFamily } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { recordOf, sleeper, startTokenOf } from "../kit/records.ts";

const IDENTITY = /^not authorised: /;
const LIMITS = ["--max-live-capsules", "100000", "--max-concurrent", "100000"];

function filesOf(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((found) => found.isFile())
      .map((found) => join(found.parentPath, found.name))
      .sort()
      .map((path) => [path, readFileSync(path, "base64")]),
  );
}

test.skipIf(process.platform !== "linux")(
  "killed at random moments and started again, it voids every token and counts what runs",
  async () => {
    await using host = await createFamily();
    const running = join(host.home, ".murmur", "running");
    mkdirSync(running);
    const alive = [sleeper(), sleeper()];
    for (const [index, { pid }] of alive.entries()) {
      const record = recordOf({ session_id: `ses_survivor_${index}`, pid, process_start: startTokenOf(pid) });
      writeFileSync(join(running, `${index}.json`), JSON.stringify(record));
    }
    const stale = recordOf({ session_id: "ses_gone", pid: 2 ** 31 - 1, process_start: "1" });
    writeFileSync(join(running, "gone.json"), JSON.stringify(stale));
    for (const [name, text] of Object.entries(BROKEN_RECORDS))
      writeFileSync(join(running, `${name}.json`), text);
    const before = filesOf(host.home);
    const old: { credential: string; approval: string }[] = [];
    try {
      for (let round = 0; round < 5; round++) {
        const daemon = await host.start(LIMITS);
        const counted = `2 live capsules already running`;
        expect(daemon.stderr()).toContain(counted);
        const unreadable = Object.keys(BROKEN_RECORDS).length;
        expect(daemon.stderr()).toContain(`1 stale and ${unreadable} unreadable not counted`);
        for (const { credential, approval } of old) {
          expect((await daemon.caller.spawn(credential, "local/child")).json.error).toMatch(IDENTITY);
          const child = { session_id: "ses_late", name: "local/child", version: VERSION };
          const late = await daemon.caller.post("/register", child, { "x-murmur-spawn-approval": approval });
          expect(late.json.error).toMatch(IDENTITY);
        }
        // The id is free again, with the daemon that knew it.
        const credential = await daemon.caller.credential("ses_root", "local/parent");
        const { json } = await daemon.caller.spawn(credential, "local/child");
        old.push({ credential, approval: String(json.approval) });
        expect((await daemon.caller.status("ses_root")).json.live_capsules).toBe(4);
        // The daemon ends in the middle of a load, after the round's number of answers.
        let answered = 0;
        const enough = Promise.withResolvers<void>();
        const load = Array.from({ length: 8 }, async () => {
          for (;;) {
            const { status } = await daemon.caller.spawn(credential, "local/child");
            if (status === 200 && ++answered === 10 + round * 37) enough.resolve();
          }
        });
        const broken = Promise.allSettled(load);
        await enough.promise;
        expect(await daemon.kill("SIGKILL")).toBe("SIGKILL");
        await broken;
        expect(filesOf(host.home)).toEqual(before);
      }
    } finally {
      await Promise.all(alive.map((process) => process.end()));
    }
  },
);

const SOUND = recordOf({ session_id: "ses_x", pid: 1, process_start: "1" });
const but = (more: Record<string, unknown>) => JSON.stringify({ ...SOUND, ...more });

/** Each is unreadable: counted as such, and never a capsule. */
const BROKEN_RECORDS: Readonly<Record<string, string | Uint8Array>> = {
  "broken-empty": "",
  "broken-text": "hello",
  "broken-cut": JSON.stringify(SOUND).slice(0, -5),
  "broken-list": "[]",
  "broken-null": "null",
  "broken-utf8": Buffer.from('{"session_id":"\xff"}', "latin1"),
  "broken-large": `${JSON.stringify(SOUND)}${" ".repeat(1024 * 1024)}`,
  "broken-deep": "[".repeat(100_000),
  "broken-pid-text": but({ pid: "1" }),
  "broken-pid-negative": but({ pid: -1 }),
  "broken-pid-fraction": but({ pid: 1.5 }),
  "broken-pid-large": but({ pid: 2 ** 32 }),
  "broken-no-id": but({ session_id: undefined }),
  "broken-id": but({ session_id: "../x" }),
  "broken-id-empty": but({ session_id: "" }),
  "broken-start": but({ process_start: 1 }),
  "broken-flag": but({ outlives_launcher: "no" }),
  "broken-formation": but({ formation_id: "frm_x" }),
  "broken-launcher": but({ formation_launcher: { pid: "x" } }),
  "broken-credentials": but({ credentials: { a: 1 } }),
};
