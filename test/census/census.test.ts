import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Census, takeCensus } from "../../src/census/census.ts";
import {
  darwinReading,
  identify,
  isPossible,
  parseProcStat,
  readProcess,
} from "../../src/census/process-identity.ts";
import { fault, ok } from "../../src/result.ts";
import { atOnce } from "../../src/slices.ts";
import { noMoreFilesThan, openFiles } from "../kit/folders.ts";
import { createHost } from "../kit/host.ts";
import { sleeper, startTokenOf, withoutMainThread, writeRecord, zombie } from "../kit/records.ts";
import { until } from "../kit/until.ts";

const onLinux = process.platform === "linux";

describe.if(onLinux)("a process's identity", () => {
  test("is its pid and the moment it started", async () => {
    const child = sleeper();
    const startToken = startTokenOf(child.pid);
    expect(identify({ pid: child.pid, startToken })).toBe("alive");
    expect(identify({ pid: child.pid, startToken: `${startToken}0` })).toBe("gone");
    expect(identify({ pid: child.pid, startToken: "" })).toBe("gone");
    await child.end();
    expect(identify({ pid: child.pid, startToken })).toBe("gone");
  });

  test.each([0, 2 ** 31, 2 ** 32 - 1])("of pid %d belongs to no process", (pid) => {
    expect(identify({ pid, startToken: "" })).toBe("gone");
  });

  test("needs a pid within the valid range", () => {
    expect([-1, 0, 1, 2 ** 31 - 1, 2 ** 31].map(isPossible)).toEqual([false, false, true, true, false]);
  });

  test("of a zombie counts as gone", async () => {
    const undead = await zombie();
    const startToken = startTokenOf(undead.pid);
    expect(identify({ pid: undead.pid, startToken })).toBe("alive");
    undead.die();
    await until("the child is a zombie", () =>
      readFileSync(`/proc/${undead.pid}/stat`, "latin1").includes(") Z"),
    );
    expect(identify({ pid: undead.pid, startToken })).toBe("gone");
    await undead.end();
  });

  test("is read after the last bracket, whatever the process is named", () => {
    const rest = ["S", ...Array.from({ length: 18 }, (_, index) => String(index)), "4242", "7"].join(" ");
    expect(parseProcStat(`12 (a) Z (b) ${rest}`)).toEqual({ isEnded: false, startToken: "4242" });
    for (const state of ["Z", "X", "x"]) {
      expect(parseProcStat(`12 (x) ${rest.replace("S", state)}`)).toMatchObject({ isEnded: true });
    }
    expect(parseProcStat("12 (x) S 1")).toEqual({ isEnded: false, startToken: undefined });
  });

  test.skipIf(!Bun.which("python3"))(
    "of one whose main thread has ended is alive, and counts, until its last thread has",
    async () => {
      const headless = await withoutMainThread();
      const startToken = startTokenOf(headless.pid);
      const state = readFileSync(`/proc/${headless.pid}/stat`, "latin1");
      expect(state.slice(state.lastIndexOf(")"))).toStartWith(") Z ");
      expect(identify({ pid: headless.pid, startToken })).toBe("alive");
      expect(identify({ pid: headless.pid, startToken: "1" })).toBe("gone");
      const census = new Census([{ sessionId: "ses_headless", pid: headless.pid, startToken }]);
      expect(census.count()).toBe(1);
      await headless.end();
      expect(census.count()).toBe(0);
      expect(identify({ pid: headless.pid, startToken })).toBe("gone");
    },
  );

  test("of another user's process can be read", () => {
    expect(readProcess(1)).toMatchObject({ held: true });
  });
});

describe.if(onLinux)("a census", () => {
  const recordFor = (pid: number, sessionId = `ses_${pid}`) => ({
    sessionId,
    pid,
    startToken: startTokenOf(pid),
  });

  test("counts a process until there is evidence that it has gone, and then never again", async () => {
    const [one, other] = [sleeper(), sleeper()];
    const census = new Census([
      recordFor(one.pid),
      recordFor(other.pid),
      { sessionId: "x", pid: 0, startToken: "" },
    ]);
    expect(census.count()).toBe(2);
    await one.end();
    expect(census.count()).toBe(1);
    await other.end();
    expect(census.count()).toBe(0);
    expect(census.count()).toBe(0);
  });

  test("frees a killed capsule's slot at the next read, even while it is a zombie", async () => {
    const undead = await zombie();
    const census = new Census([recordFor(undead.pid)]);
    expect(census.count()).toBe(1);
    undead.die();
    await until("the child is a zombie", () =>
      readFileSync(`/proc/${undead.pid}/stat`, "latin1").includes(") Z"),
    );
    expect(census.count()).toBe(0);
    await undead.end();
  });

  test("counts a survivor that registers once, as a session, and by its process after that", async () => {
    const child = sleeper();
    const census = new Census([recordFor(child.pid, "ses_a")]);
    census.sessionStarted("ses_a");
    census.sessionStarted("ses_other");
    expect(census.count()).toBe(0);
    census.sessionEnded("ses_a");
    expect(census.count()).toBe(1);
    census.sessionStarted("ses_a");
    await child.end();
    expect(census.count()).toBe(0);
    census.sessionEnded("ses_a");
    expect(census.count()).toBe(0);
  });

  test("counts all processes of a session that registers as that one session, however often it registers", async () => {
    const [one, same, other] = [sleeper(), sleeper(), sleeper()];
    const census = new Census([
      recordFor(one.pid, "ses_a"),
      recordFor(same.pid, "ses_a"),
      recordFor(other.pid, "ses_b"),
    ]);
    expect(census.count()).toBe(3);
    census.sessionStarted("ses_a");
    census.sessionStarted("ses_a");
    expect(census.count()).toBe(1);
    census.sessionEnded("ses_a");
    census.sessionEnded("ses_a");
    expect(census.count()).toBe(3);
    await one.end();
    expect(census.count()).toBe(2);
    census.sessionStarted("ses_a");
    expect(census.count()).toBe(1);
    await same.end();
    expect(census.count()).toBe(1);
    census.sessionEnded("ses_a");
    expect(census.count()).toBe(1);
    census.sessionStarted("ses_a");
    expect(census.count()).toBe(1);
    await other.end();
    expect(census.count()).toBe(0);
  });

  test("says why the running directory cannot be listed", () => {
    expect(atOnce(takeCensus("/dev/null"))).toEqual({
      ok: false,
      fault: "/dev/null: Not a directory (os error 20)",
    });
  });

  test("keeps no descriptor of a process that has gone", async () => {
    // The runtime holds one of each child too, until that has ended.
    const before = openFiles();
    const children = Array.from({ length: 20 }, sleeper);
    const records = children.map(({ pid }) => recordFor(pid));
    const census = new Census(records);
    await Promise.all(children.map((child) => child.end()));
    expect(census.count()).toBe(0);
    // The set that waits for them is one.
    await noMoreFilesThan(before + 1);
  });

  test("reports what it counted and every record that it left out", async () => {
    await using host = createHost();
    const child = sleeper();
    writeRecord(host.home, {
      session_id: "ses_live",
      pid: child.pid,
      process_start: startTokenOf(child.pid),
    });
    writeRecord(host.home, { session_id: "ses_other", pid: child.pid, process_start: "1" });
    writeRecord(host.home, { session_id: "ses_zero", pid: 0, process_start: "1" });
    await Bun.write(`${host.home}/.murmur/running/broken.json`, "{");
    const taken = atOnce(takeCensus(`${host.home}/.murmur/running`));
    expect(taken).toMatchObject({ ok: true, live: 1, read: 4, stale: 2, unreadable: 1 });
    await child.end();
  });
});

test("macOS identifies a process by the second and the microsecond when it started", () => {
  const reading = (seconds: bigint, microseconds: bigint) => darwinReading(ok({ seconds, microseconds }));
  expect(reading(1_800_000_000n, 42n)).toEqual({ held: true, startToken: "1800000000.000042" });
  expect(reading(7n, 123_456n)).toEqual({ held: true, startToken: "7.123456" });
  // A pid that is held and has no information is a zombie's; any other error says nothing of it.
  expect(darwinReading(fault("ESRCH"))).toEqual({ held: false });
  expect(darwinReading(fault("EPERM"))).toEqual({ held: true, startToken: undefined });
});
