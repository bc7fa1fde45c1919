/** What a census holds of each process that it counts, and how it counts those of which it can hold nothing. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Census } from "../../src/census/census.ts";
import { readProcess } from "../../src/census/process-identity.ts";
import { openFiles } from "../kit/folders.ts";
import { sleeper, startTokenOf } from "../kit/records.ts";
import type { Counted } from "./count-program.ts";

const onLinux = process.platform === "linux";
const recordFor = (pid: number, sessionId = `ses_${pid}`) => ({
  sessionId,
  pid,
  startToken: startTokenOf(pid),
});

/** Descriptors of a kind that this process holds: `pidfd`, `eventpoll`. */
function held(kind: string): number {
  const links = readdirSync("/proc/self/fd").map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // That of the reading itself.
      return "";
    }
  });
  return links.filter((link) => link.includes(kind)).length;
}

/** Runs `count-program.ts` with a census of those records, in a shell that prepares it. */
function counter(prepare: string, records: readonly object[]) {
  const child = Bun.spawn(
    ["sh", "-c", `${prepare} && exec "$0" "$@"`, process.execPath, PROGRAM, JSON.stringify(records)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    async next(): Promise<Counted> {
      for (;;) {
        const end = text.indexOf("\n");
        if (end !== -1) {
          const line = text.slice(0, end);
          text = text.slice(end + 1);
          return JSON.parse(line) as Counted;
        }
        const { value, done } = await reader.read();
        if (done) throw new Error(`the program ended: ${await child.exited}`);
        text += decoder.decode(value);
      }
    },
    again() {
      child.stdin.write("\n");
      child.stdin.flush();
      return this.next();
    },
    async end() {
      child.stdin.end();
      await child.exited;
    },
  };
}

const PROGRAM = join(import.meta.dir, "count-program.ts");

describe.if(onLinux)("a census", () => {
  test("holds exactly one descriptor for each process that it counts, and none for others", async () => {
    const children = Array.from({ length: 5 }, sleeper);
    const [pids, sets] = [held("pidfd"), held("eventpoll")];
    const census = new Census([
      ...children.map(({ pid }) => recordFor(pid)),
      ...children.map(({ pid }) => ({ sessionId: "ses_stale", pid, startToken: "1" })),
    ]);
    expect([held("pidfd") - pids, held("eventpoll") - sets]).toEqual([5, 1]);
    expect(census.count()).toBe(5);
    const before = held("pidfd");
    await children[0]?.end();
    expect(census.count()).toBe(4);
    // The runtime may have held one of its own child.
    expect(before - held("pidfd")).toBeGreaterThanOrEqual(1);
    await Promise.all(children.map((child) => child.end()));
    expect(census.count()).toBe(0);
    expect(held("pidfd")).toBeLessThanOrEqual(pids);
  });

  test("holds no more than half of the descriptor limit, and checks the other processes one by one", async () => {
    const [child, other] = [sleeper(), sleeper()];
    const records = Array.from({ length: 200 }, (_, index) => recordFor(child.pid, `ses_${index}`));
    const counting = counter("ulimit -n 128", [...records, recordFor(other.pid)]);
    try {
      const first = await counting.next();
      expect(first).toMatchObject({ count: 201, verdict: "alive", hasInput: true });
      // Half of 128, and the descriptors below it that are free.
      expect(first.held.at(-1)).toBe(63);
      expect(first.held.length).toBeGreaterThan(30);
      await other.end();
      expect(await counting.again()).toMatchObject({ count: 200, held: first.held });
      await child.end();
      const last = { count: 0, verdict: "gone", held: [], hasInput: true };
      expect(await counting.again()).toEqual(last);
      expect(await counting.again()).toEqual(last);
    } finally {
      await Promise.all([child.end(), other.end(), counting.end()]);
    }
  });

  // Another user's process may be hidden: /proc does not show it, and only a signal finds it.
  const canHide = onLinux && Bun.spawnSync(["unshare", "-Urm", "true"]).success;
  test.if(canHide)("counts a process that cannot be read until its pid is free", async () => {
    const child = sleeper();
    const hide = `mount -t tmpfs none /proc/${child.pid}`;
    const counting = counter(`exec unshare -Urm sh -c '${hide} && exec "$0" "$@"' "$0" "$@"; true`, [
      recordFor(child.pid),
    ]);
    try {
      expect(await counting.next()).toMatchObject({ count: 1, verdict: "unverified", held: [] });
      expect(await counting.again()).toMatchObject({ count: 1, verdict: "unverified", held: [] });
      await child.end();
      expect(await counting.again()).toMatchObject({ count: 0, verdict: "gone" });
    } finally {
      await Promise.all([child.end(), counting.end()]);
    }
  });
});

test.if(onLinux)("reading a process leaves no descriptor open", () => {
  const before = openFiles();
  for (let count = 0; count < 50; count++) readProcess(process.pid);
  expect(openFiles()).toBeLessThan(before + 10);
});
