/** The launcher reads the output of its processes and notices their ends, whoever else interferes. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Clock } from "../../../src/runtime/clock.ts";
import { endAll } from "../../../src/runtime/launch/held-process.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { canTrace, trace } from "../delegation/tracer.ts";
import { processesOf, uniqueSleep } from "../world.ts";
import { shell, start } from "./starting.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const STARTING = join(import.meta.dir, "starting.ts");
const SLEEP = uniqueSleep();
const tracing = await canTrace();

describe("the output of twelve children at once", () => {
  test("is read to its end while this process does other things", async () => {
    const before = openFiles();
    const megabytes = 4;
    const children = Array.from({ length: 12 }, (_, index) =>
      start(shell(`echo ready; head -c ${megabytes << 20} /dev/zero; exit ${index}`)),
    );
    // Pipes that wait do not use up the thread pool that reads files.
    expect(await Bun.file(import.meta.path).text()).toContain("twelve children");
    const statuses = await Promise.all(children.map(({ exited }) => exited));
    expect(statuses.map((status) => status.kind === "exited" && status.status)).toEqual([...statuses.keys()]);
    const sizes = () => children.map(({ written }) => written.bytes);
    // And a line's end, which it did not write.
    await until("all of it is read", () => sizes().every((size) => size === (megabytes << 20) + 1));
    await noMoreFilesThan(before);
  });

  test("does not end with the child if a grandchild holds the pipe", async () => {
    const clock = manualClock();
    const before = openFiles();
    const children = Array.from({ length: 12 }, () =>
      start(shell(`${SLEEP} & echo ready; echo more; exit 4`), clock),
    );
    for (const child of children) expect(await child.exited).toEqual({ kind: "exited", status: 4 });
    await until("what came before is read", () => children.every(({ written }) => written.text === "more\n"));
    await clock.advance(5_000);
    await noMoreFilesThan(before);
    await until("no timer is left", () => clock.waiting() === 0);
    for (const pid of processesOf(SLEEP)) process.kill(pid, "SIGKILL");
  });
});

test.skipIf(process.platform !== "linux")(
  "near the limit of descriptors a child is not started, or runs and is read to its end",
  () => {
    const program = join(import.meta.dir, "few-descriptors-program.ts");
    const line = `ulimit -n 200; exec '${process.execPath}' '${program}'`;
    const { stdout, stderr } = Bun.spawnSync(["sh", "-c", line], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 110_000,
    });
    const outcomes: string[] = JSON.parse(stdout.toString() || JSON.stringify([stderr.toString()]));
    const well = "exit status: 0, more, words";
    expect([outcomes[0], outcomes.at(-1)]).toEqual([well, well]);
    const notStarted = /^not started: (no descriptor is left|no pipe for .*Too many open files.*)$/;
    expect(outcomes.filter((outcome) => outcome !== well && !notStarted.test(outcome))).toEqual([]);
    expect(outcomes.some((outcome) => notStarted.test(outcome))).toBe(true);
  },
);

describe("a child that ends while nobody reads its parent's output", () => {
  /** Writes to both of its streams, and again once it is told to end. */
  const TWICE = shell(
    "trap 'echo two; echo the cause >&2; exit 3' TERM",
    "echo starting >&2; echo ready; echo one",
    "while :; do sleep 0.01; done",
  );

  /** `read` lets the parent's output be read from then on. */
  async function endedUnread(clock: Clock) {
    const { promise: taken, resolve: read } = Promise.withResolvers<void>();
    const child = start(TWICE, clock, taken);
    await until("its first line is being written", () => child.written.text === "one\n");
    child.signal("SIGTERM");
    expect(await child.exited).toEqual({ kind: "exited", status: 3 });
    return { ...child, read };
  }

  test("loses no line, however long that lasts", async () => {
    const clock = manualClock();
    const before = openFiles();
    const child = await endedUnread(clock);
    await clock.advance(60_000);
    child.read();
    await until("the rest is written", () => child.written.text === "one\ntwo\n");
    await noMoreFilesThan(before);
    await until("no timer is left", () => clock.waiting() === 0);
  });

  test("has its last lines remembered", async () => {
    // The clock stands still, so this waits for the end of the pipe.
    const child = await endedUnread(manualClock());
    expect(await child.lastStderrLines()).toEqual(["starting", "the cause"]);
    child.read();
  });
});

test("an approval that is longer than a pipe's capacity arrives whole", async () => {
  const { feedLine } = await import("../../../src/runtime/launch/child-process.ts");
  const { openPipe } = await import("../../../src/sys/descriptors.ts");
  const pipe = openPipe();
  if (!pipe.ok) throw new Error(pipe.fault);
  const line = `${"a".repeat(300_000)}\n`;
  feedLine(pipe.value.writeEnd, line);
  const stream = Bun.file(pipe.value.readEnd).stream();
  expect(await new Response(stream).text()).toBe(line);
  require("node:fs").closeSync(pipe.value.readEnd);
});

describe.skipIf(!tracing)("a child that a debugger holds", () => {
  test("is waited for at most a second after SIGKILL, and is reaped once that is possible", async () => {
    const clock = manualClock();
    const before = openFiles();
    const child = start(shell("echo ready; exec sleep 1000"), clock);
    await child.firstLine;
    const tracer = await trace(child.pid);
    expect(tracer.held).toBe(true);
    const ending = endAll([child], clock);
    await clock.advance(5_000);
    // SIGKILL has ended it, but it cannot be reaped.
    await child.gone;
    await clock.advance(1_000);
    await ending;
    expect(await child.exited).toEqual({
      kind: "unreaped",
      why: expect.stringContaining(`pid ${child.pid} could not be reaped`),
    });
    expect(child.diagnosed).toEqual([expect.stringContaining(`pid ${child.pid} could not be reaped`)]);
    await tracer.end();
    await noMoreFilesThan(before);
  });

  test("costs its parent no processor time", async () => {
    const parent = Bun.spawn(
      [
        process.execPath,
        "--no-env-file",
        "-e",
        `import { shell, start } from "${STARTING}";
         const child = start(shell("echo ready; exec sleep 1000"));
         await child.firstLine;
         console.log(child.pid);
         await child.gone;
         const before = process.cpuUsage();
         await Bun.sleep(1500);
         const { user, system } = process.cpuUsage(before);
         console.log((user + system) / 1000);
         process.exit(0);`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const lines = parent.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const pid = Number((await lines.read()).value);
    const tracer = await trace(pid);
    expect(tracer.held).toBe(true);
    process.kill(pid, "SIGKILL");
    // A loop that spins takes nearly all of the 1.5 s that it has.
    expect(Number((await lines.read()).value)).toBeLessThan(300);
    await tracer.end();
    await parent.exited;
  });
});

describe("a parent whose starter", () => {
  /** A parent, started by a shell that says `trap` first, whose child is told to exit by itself. */
  async function underTrap(trap: string, program: string): Promise<string> {
    const code = `import { shell, start } from "${STARTING}"; ${program}`;
    const parent = Bun.spawn(
      ["/bin/sh", "-c", `${trap}; exec "$0" --no-env-file -e "$1"`, process.execPath, code],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const said = await new Response(parent.stdout).text();
    expect(await parent.exited).toBe(0);
    return said;
  }

  test("ignored SIGCHLD still gets the exit status of its child", async () => {
    const said = await underTrap(
      "trap '' CHLD",
      `const child = start(shell("exit 7")); console.log(JSON.stringify(await child.exited));`,
    );
    expect(JSON.parse(said)).toEqual({ kind: "exited", status: 7 });
  });

  test("ignored SIGPIPE has children that do not", async () => {
    const said = await underTrap(
      "trap '' PIPE",
      `const child = start(shell("kill -PIPE $$")); console.log(JSON.stringify(await child.exited));`,
    );
    expect(JSON.parse(said)).toMatchObject({ kind: "signaled", signal: "SIGPIPE" });
  });

  test.skipIf(process.platform !== "linux")(
    "makes it ignore SIGCHLD later is told that a status was lost",
    async () => {
      const said = await underTrap(
        ":",
        `import { dlopen } from "bun:ffi";
       const child = start(shell("echo ready; exec sleep 1000"));
       await child.firstLine;
       dlopen("libc.so.6", { signal: { args: ["i32", "u64"], returns: "ptr" } }).symbols.signal(17, 1n);
       child.signal("SIGTERM");
       console.log(JSON.stringify(await child.exited));`,
      );
      expect(JSON.parse(said)).toMatchObject({
        kind: "lost",
        why: expect.stringContaining("ignores SIGCHLD"),
      });
    },
  );
});
