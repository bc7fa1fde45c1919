/** With any kind of stderr, the daemon answers, reports every lost line, and ends when it is told to. */

import { describe, expect, test } from "bun:test";
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProcess } from "../../src/census/process-identity.ts";
import { compiledBinary } from "../kit/binary.ts";
import { sharedFamily } from "../kit/family.ts";
import { shared } from "../kit/shared.ts";
import { fullPipe, type UnreadStream, unreadSocket, unreadTerminal } from "../kit/unread.ts";
import { until } from "../kit/until.ts";
import { type MuteDaemon, startMute } from "./mute.ts";
import { canForbidFfi, withoutFfi } from "./no-ffi.ts";
import { createOrdinaryUser } from "./ordinary-user.ts";

const isRoot = process.getuid?.() === 0;

const host = sharedFamily((family) => {
  // For the stranger to read.
  chmodSync(family.home, 0o755);
});
const stranger = shared((undo) => undo.adopt(createOrdinaryUser(), (user) => user.remove()));

/** More lines than any of these takes unread, and fewer than the daemon holds. */
const REGISTRATIONS = 1000;

interface Case {
  readonly what: string;
  readonly open: () => UnreadStream;
  /** Put before the executable. */
  readonly prefix?: () => readonly string[];
  readonly skip?: boolean;
}

const asStranger = () => stranger().prefix;

/** As a shell's own job, which is not the terminal's foreground; ends as the job does. */
const IN_BACKGROUND = 'set -m; stty tostop; "$0" "$@" & trap "kill -TERM $!" TERM; wait $!; wait $!; exit $?';

const CASES: readonly Case[] = [
  { what: "a terminal that nobody reads", open: unreadTerminal },
  {
    what: "a terminal that stops background writers",
    open: unreadTerminal,
    prefix: () => ["sh", "-c", 'exec setsid --ctty sh -c "$0" "$@" <&2', IN_BACKGROUND],
    skip: process.platform !== "linux",
  },
  { what: "a pipe that is full from the start", open: fullPipe },
  { what: "a socket that nobody reads", open: unreadSocket },
  // Nothing of these can be opened anew.
  {
    what: "another user's terminal that nobody reads",
    open: unreadTerminal,
    prefix: asStranger,
    skip: !isRoot,
  },
  { what: "another user's pipe that is full", open: fullPipe, prefix: asStranger, skip: !isRoot },
  {
    what: "a terminal that nobody reads, where the C library cannot be called",
    open: unreadTerminal,
    prefix: withoutFfi,
    skip: !canForbidFfi,
  },
  {
    what: "a socket that nobody reads, where the C library cannot be called",
    open: unreadSocket,
    prefix: withoutFfi,
    skip: !canForbidFfi,
  },
];

describe("with stderr on", () => {
  for (const { what, open, prefix = () => [], skip = false } of CASES) {
    test.skipIf(skip)(`${what}, it answers, holds what is not read, and ends on SIGTERM`, async () => {
      using stream = open();
      await using daemon = await startMute(host(), stream.fd, {
        prefix: prefix(),
        binary: prefix === asStranger ? stranger().binary : undefined,
      });
      const ids = await registerMany(daemon, "first", REGISTRATIONS);
      expect((await daemon.caller.send("/health")).status).toBe(200);
      let said = "";
      await until("every line is read", () => {
        said += stream.take();
        return said.includes(`${ids.at(-1)} `) && said.endsWith("\n");
      });
      expect(registeredIn(said).sort()).toEqual(ids.sort());
      // Full again, and nothing reads until the daemon has ended.
      await registerMany(daemon, "late", REGISTRATIONS);
      await end(daemon);
      // The end may have cut the last one.
      const written = stream.take().trimEnd().split("\n").slice(0, -1);
      expect(written).not.toBeEmpty();
      for (const line of written) expect(line).toMatch(/ free=\d+$/);
    });
  }
});

/** Registers so many roots, and gives their ids. */
async function registerMany(daemon: MuteDaemon, prefix: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `ses_${prefix}_${index}`);
  for (let done = 0; done < count; done += 50) {
    await Promise.all(ids.slice(done, done + 50).map((id) => daemon.caller.credential(id, "local/parent")));
  }
  return ids;
}

/** The ids in the lines of a log, once each line was found to be whole. */
function registeredIn(said: string): string[] {
  expect(said).toEndWith("\n");
  const lines = said.trimEnd().split("\n");
  expect(lines.filter((line) => !WHOLE.test(line))).toEqual([]);
  return lines.flatMap((line) => / event=register session=(ses_\S+) /.exec(line)?.[1] ?? []);
}

const WHOLE =
  /^(mur-roost: \S.*|\d{4}-\S+Z info event=register .* free=\d+|\d{4}-\S+Z warn event=log-lines-dropped count=\d+)$/;

test("lines dropped for a slow reader are counted, and every other line is whole", async () => {
  using pipe = fullPipe();
  await using daemon = await startMute(host(), pipe.fd);
  // More than it holds.
  const ids = await registerMany(daemon, "many", 4000);
  let said = "";
  const dropped = () =>
    [...said.matchAll(/event=log-lines-dropped count=(\d+)\n/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  await until("every line is written or counted", () => {
    said += pipe.take();
    return said.endsWith("\n") && registeredIn(said).length + dropped() === ids.length;
  });
  expect(dropped()).toBeGreaterThan(0);
  await end(daemon);
});

async function end({ process }: MuteDaemon): Promise<void> {
  process.kill("SIGTERM");
  expect(await process.exited).toBe(0);
}

/** A file system of that size, or nothing if this host forbids mounting one. */
function smallDisk(kibibytes: number) {
  const path = mkdtempSync(join(tmpdir(), "mur-roost-disk-"));
  const mount = (options: string) =>
    Bun.spawnSync(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], { stderr: "ignore" }).exitCode ===
    0;
  const isMounted = mount(`size=${kibibytes}k`);
  const release = () => {
    if (isMounted) Bun.spawnSync(["umount", "-l", path]);
    rmSync(path, { recursive: true });
  };
  if (!isMounted) release();
  return isMounted ? { path, grow: () => mount("remount,size=64m"), [Symbol.dispose]: release } : undefined;
}

const canMount = (() => {
  using disk = smallDisk(4);
  return disk !== undefined;
})();

test.skipIf(!canMount)(
  "a full disk cuts no line, and waiting lines are written once there is room (skipped if nothing can be mounted)",
  async () => {
    using disk = smallDisk(32);
    if (!disk) throw new Error("nothing could be mounted");
    const path = join(disk.path, "log");
    const file = openSync(path, "a");
    await using daemon = await startMute(host(), file);
    const ids = await registerMany(daemon, "disk", 1000);
    expect(readFileSync(path, "utf8")).not.toContain(ids.at(-1) ?? "");
    expect((await daemon.caller.send("/health")).status).toBe(200);
    disk.grow();
    await until("every line is written", () => readFileSync(path, "utf8").includes(`${ids.at(-1)} `));
    await until("the last line is whole", () => readFileSync(path, "utf8").endsWith("\n"));
    expect(registeredIn(readFileSync(path, "utf8")).sort()).toEqual(ids.sort());
    await end(daemon);
    closeSync(file);
  },
);

for (const [what, redirection] of [
  ["is closed", "2>&-"],
  ["is full", "2>/dev/full"],
  ["has no reader", "2>&1 >/dev/null | true"],
] as const) {
  test.skipIf(process.platform !== "linux")(`a stderr that ${what} never stops it`, async () => {
    const piped = redirection.includes("|");
    const script = piped ? `"$0" "$@" ${redirection} & wait` : `exec "$0" "$@" ${redirection}`;
    await using daemon = await startMute(host(), "ignore", { prefix: ["sh", "-c", script], detached: true });
    await registerMany(daemon, "x", 500);
    expect((await daemon.caller.send("/health")).status).toBe(200);
    // The shell, and the daemon it started.
    process.kill(-daemon.process.pid, "SIGTERM");
    // A pipeline's shell is ended by the signal itself.
    expect([0, 143]).toContain(await daemon.process.exited);
    await until("the daemon has gone too", () => !isGroupThere(daemon.process.pid));
  });
}

/** Whether a process of the group runs: one that has ended stays a member until somebody waits for it. */
function isGroupThere(group: number): boolean {
  return readdirSync("/proc").some((name) => groupOf(name) === group && readProcess(Number(name)).held);
}

function groupOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
  } catch {
    // No process, or none any more.
    return undefined;
  }
}

test("it exits even if the message about a failed start cannot be written", async () => {
  using pipe = fullPipe();
  const ended = Bun.spawn([compiledBinary(), "--nope"], { env: {}, stdio: ["ignore", "ignore", pipe.fd] });
  expect(await ended.exited).toBe(1);
});
