import { dlopen } from "bun:ffi";
import { afterEach, expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { openSync } from "node:fs";
import { constants } from "node:os";
import { close, openPipe } from "../../src/sys/descriptors.ts";
import { openDirectoryPath } from "../../src/sys/entries.ts";
import type { Errno } from "../../src/sys/library.ts";
import { collect } from "../../src/sys/process.ts";
import { type SpawnPlan, spawnProcess } from "../../src/sys/spawn.ts";
import { until } from "../kit/until.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const opened: number[] = [];
afterEach(() => {
  for (const descriptor of opened.splice(0)) close(descriptor);
});

function directory(path: string): number {
  const held = openDirectoryPath(path);
  if (!held.ok) throw new Error(held.fault);
  opened.push(held.value);
  return held.value;
}

/** Runs a shell with a pipe as its standard output and another as its descriptor 3; what it wrote, and how it ended. */
async function run(script: string, environment: Record<string, string> = {}) {
  const [output, third] = [openPipe(), openPipe()];
  if (!output.ok || !third.ok) throw new Error("no pipe");
  const nothing = openSync("/dev/null", "r+");
  opened.push(output.value.readEnd, third.value.readEnd, third.value.writeEnd, nothing);
  const started = spawnProcess({
    program: "/bin/sh",
    argv: ["a name of its own", "-c", script],
    environment: { PATH: process.env.PATH ?? "", ...environment },
    directory: directory("/usr"),
    descriptors: [nothing, output.value.writeEnd, nothing, third.value.readEnd],
  });
  close(output.value.writeEnd);
  if (!started.ok) throw new Error(started.fault);
  const text = await new Response(Bun.file(output.value.readEnd).stream()).text();
  let ended = collect(started.value);
  await until("it has ended", () => {
    if (ended.ok && ended.value === undefined) ended = collect(started.value);
    return !ended.ok || ended.value !== undefined;
  });
  // Its status is collected once.
  expect(collect(started.value)).toEqual({ ok: false, fault: "ECHILD" });
  return { text, ended: ended.ok ? ended.value : ended.fault };
}

test("the program starts with its directory, argv and environment, and its own exit status is reported", async () => {
  const { text, ended } = await run('pwd; echo "$0"; echo "$GREETING"; exit 5', { GREETING: "grüß dich" });
  expect(text).toBe("/usr\na name of its own\ngrüß dich\n");
  expect(ended).toEqual({ kind: "exited", status: 5 });
});

test("a signal that ends the program is reported by its number", async () => {
  expect((await run("kill -9 $$")).ended).toEqual({ kind: "signaled", number: 9 });
});

test("the program's standard streams are real pipes, which it can open by name", async () => {
  expect((await run("echo x > /dev/stdout")).text).toBe("x\n");
});

test.skipIf(process.platform !== "linux")(
  "it has the descriptors that it was given, and no other",
  async () => {
    const { symbols } = dlopen("libc.so.6", { dup: { args: ["i32"], returns: "i32" } });
    // One that survives an exec by itself.
    const bare = symbols.dup(2);
    opened.push(bare);
    expect(bare).toBeGreaterThan(3);
    const { text } = await run("ls /proc/$$/fd");
    expect(text).toBe("0\n1\n2\n3\n");
  },
);

test.skipIf(process.platform !== "linux").each([
  ["no signal blocked or ignored", 0, 0n],
  ["no signal blocked, and only SIGHUP ignored where this process ignores it", 1, 1n],
])("the program starts with %s", async (_, handler, ignored) => {
  const { symbols } = dlopen("libc.so.6", { signal: { args: ["i32", "usize"], returns: "usize" } });
  const before = symbols.signal(constants.signals.SIGHUP, handler);
  onTestFinished(() => void symbols.signal(constants.signals.SIGHUP, before));
  const { text } = await run("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
  const sets = new Map(
    text
      .trim()
      .split("\n")
      .map((line) => line.split(":\t") as [string, string]),
  );
  const SIGNALS_OF_PROGRAMS = 0x7fff_ffffn;
  expect(BigInt(`0x${sets.get("SigBlk")}`)).toBe(0n);
  // The C library's own two are above.
  expect(BigInt(`0x${sets.get("SigIgn")}`) & SIGNALS_OF_PROGRAMS).toBe(ignored);
});

test.each<[string, Partial<SpawnPlan>, Errno]>([
  ["no program", { program: "/nowhere/mur" }, "ENOENT"],
  ["a program that may not be run", { program: "/etc/passwd" }, "EACCES"],
  ["an argument with a NUL", { argv: ["a\0b"] }, "EINVAL"],
  ["a value with a NUL", { environment: { A: "a\0b" } }, "EINVAL"],
  ["no directory", { directory: 987_654 }, "EBADF"],
  ["a descriptor that is not open", { descriptors: [987_654] }, "EBADF"],
  ["one of this process's own three", { descriptors: [1] }, "EINVAL"],
])("%s starts nothing", (_, wrong, errno) => {
  const plan = {
    program: "/bin/true",
    argv: ["true"],
    environment: {},
    directory: directory("/"),
    descriptors: [],
  };
  expect(spawnProcess({ ...plan, ...wrong })).toEqual({ ok: false, fault: errno });
});
