import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { holdLifeline, openLifeline, type ParentLifeline } from "../../src/runtime/contract/lifeline.ts";
import { openPipe, readable } from "../../src/sys/descriptors.ts";
import { HOLD, HOLD_WITHOUT_THREADS, run, runUntil } from "./holder.ts";
import { processesOf, uniqueSleep } from "./world.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function pipe() {
  const ends = openPipe();
  if (!ends.ok) throw new Error(ends.fault);
  return ends.value;
}

function lifeline(): ParentLifeline {
  const ends = openLifeline();
  if (!ends.ok) throw new Error(ends.fault);
  closing.push(ends.value.close);
  return ends.value;
}

/** Whether a text of `/proc/<pid>/fdinfo` holds the flag `O_CLOEXEC`. */
function isCloseOnExec(fdinfo: string): boolean {
  const flags = Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(fdinfo)?.[1] ?? "", 8);
  return (flags & 0o2000000) !== 0;
}

describe("the child's half", () => {
  test.each([undefined, "", "  \n"])("takes %p for an absent lifeline", (value) => {
    expect(holdLifeline({ MURMUR_SPAWNER_LIFELINE: value })).toEqual({ ok: true, value: undefined });
  });

  test.each(["0", "2", "-3", "3.5", "0x4", "three", "3,4", "99999999999", "987654321"])(
    "refuses %s, which names no lifeline",
    (value) => {
      const held = holdLifeline({ MURMUR_SPAWNER_LIFELINE: value });
      if (held.ok) throw new Error("it was held");
      expect(held.fault.code).toBe("E-RUN-020");
      expect(held.fault.message).toContain("MURMUR_SPAWNER_LIFELINE");
    },
  );

  test("tells a write end, a file and a socket apart from a read end", () => {
    const { readEnd, writeEnd } = pipe();
    const file = openSync(import.meta.path, "r");
    closing.push(() => [readEnd, writeEnd, file].forEach(closeSync));
    const why = (descriptor: number) => {
      const held = holdLifeline({ MURMUR_SPAWNER_LIFELINE: String(descriptor) });
      return held.ok ? "held" : held.fault.message;
    };
    expect(why(writeEnd)).toContain("is not the read end of its pipe");
    expect(why(file)).toContain("is not a pipe");
  });

  test("refuses a socket pair, which is what a piped stdio entry is", async () => {
    const child = run(HOLD, "pipe");
    expect(await new Response(child.stdout).text()).toContain("is not a pipe");
    expect(await child.exited).toBe(9);
  });

  test("notices the end, and does not take bytes before it for the end", async () => {
    const { readEnd, writeEnd } = pipe();
    const { child, next } = await runUntil(
      "holding",
      `${HOLD}
       held.value.ended.then(() => { console.log("ended"); process.exit(7); });
       setInterval(() => {}, 1000);
       console.log("holding");`,
      readEnd,
    );
    // More than the pipe holds: all of it is taken only if somebody goes on reading.
    expect(writeSync(writeEnd, Buffer.alloc(100_000))).toBe(100_000);
    closeSync(writeEnd);
    expect(await next()).toBe("ended\n");
    expect(await child.exited).toBe(7);
  });

  test("notices at once an end that came earlier", async () => {
    const waiting = pipe();
    closeSync(waiting.writeEnd);
    const kept = run(
      `${HOLD} setInterval(() => {}, 1000); await held.value.ended; process.exit(7);`,
      waiting.readEnd,
    );
    closeSync(waiting.readEnd);
    expect(await kept.exited).toBe(7);
  });

  test("does not keep a finished program alive", async () => {
    const ends = lifeline();
    const child = run(`${HOLD} console.log("done");`, ends.readEnd);
    expect(await new Response(child.stdout).text()).toBe("done\n");
    expect(await child.exited).toBe(0);
  });

  test.skipIf(process.platform !== "linux")(
    "passes the descriptor to no program that it starts",
    async () => {
      const ends = lifeline();
      // Bun closes what it does not pass on; other ways to start a program do not, so the flag itself counts.
      const child = run(
        `${HOLD}
       console.log(require("node:fs").readFileSync("/proc/self/fdinfo/3", "utf8"));
       console.log(Bun.spawnSync(["sh", "-c", "ls -l /proc/$$/fd"]).stdout.toString());`,
        ends.readEnd,
      );
      const listed = await new Response(child.stdout).text();
      expect(isCloseOnExec(listed)).toBe(true);
      expect(listed).toContain(" 0 ->");
      expect(listed).not.toContain(" 3 ->");
    },
  );
});

const SLEEP = uniqueSleep();
/** What blocks the main thread. */
const BUSY = {
  "a busy loop": "for (;;) {}",
  "a command that it waits for": `Bun.spawnSync(["sh", "-c", "exec ${SLEEP}"]);`,
};

describe("a bound after the end", () => {
  test.each(Object.entries(BUSY))("ends the process in %s", async (_, busy) => {
    const { readEnd, writeEnd } = pipe();
    const { child } = await runUntil(
      "busy",
      `${HOLD} held.value.exitAfter(50); require("node:fs").writeSync(1, "busy\\n"); ${busy}`,
      readEnd,
    );
    closeSync(writeEnd);
    expect(await child.exited).toBe(143);
    for (const pid of processesOf(SLEEP)) process.kill(pid, "SIGKILL");
  });

  test("counts from when it was set if the end came earlier", async () => {
    const { readEnd, writeEnd } = pipe();
    closeSync(writeEnd);
    const child = run(
      `${HOLD} await held.value.ended;
       held.value.exitAfter(3_600_000);
       await Bun.sleep(50);
       held.value.exitAfter(50);
       for (;;) {}`,
      readEnd,
    );
    closeSync(readEnd);
    expect(await child.exited).toBe(143);
  });

  test("that never begins ends nothing", async () => {
    const { readEnd, writeEnd } = pipe();
    closeSync(writeEnd);
    const child = run(`${HOLD} await held.value.ended; console.log("on"); process.exit(3);`, readEnd);
    closeSync(readEnd);
    expect(await child.exited).toBe(3);
  });
});

test.skipIf(process.platform !== "linux")(
  "the end of a lifeline is noticed even if no thread can be started",
  async () => {
    const { readEnd, writeEnd } = pipe();
    const { child } = await runUntil(
      "holding",
      `${HOLD_WITHOUT_THREADS} held.value.exitAfter(10); setInterval(() => {}, 1000); console.log("holding");`,
      readEnd,
    );
    expect(writeSync(writeEnd, Buffer.alloc(100_000))).toBe(100_000);
    closeSync(writeEnd);
    expect(await child.exited).toBe(143);
  },
);

describe("the parent's half", () => {
  test.skipIf(process.platform !== "linux")(
    "passes its ends to no process other than the child",
    async () => {
      const ends = lifeline();
      const own = Bun.spawnSync(["ls", "-l", `/proc/${process.pid}/fd`]).stdout.toString();
      const sibling = Bun.spawnSync(["sh", "-c", "ls -l /proc/$$/fd"]).stdout.toString();
      const child = Bun.spawn(["sh", "-c", "ls -l /proc/$$/fd"], {
        stdio: ["ignore", "pipe", "ignore", ends.readEnd],
      });
      const pipe = / 3 -> (pipe:\[\d+\])/.exec(await new Response(child.stdout).text())?.[1] ?? "";
      const held = own.split("\n").filter((line) => line.endsWith(pipe));
      expect(held).toHaveLength(2);
      for (const line of held) {
        const descriptor = / (\d+) -> /.exec(line)?.[1];
        expect(isCloseOnExec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))).toBe(true);
      }
      expect(sibling).not.toContain(pipe);
    },
  );

  test("closes each end once, even if it is called again", () => {
    const ends = lifeline();
    ends.close();
    const taken = openSync("/dev/null", "r");
    ends.close();
    ends.handedOver(Promise.resolve());
    // Still open: its number, perhaps one of the pipe's, was not closed a second time.
    closeSync(taken);
  });

  test("keeps its write end open until its child is gone", async () => {
    const ends = lifeline();
    // What the child sees, without its pace.
    const end = openSync(`/dev/fd/${ends.readEnd}`, "r");
    closing.push(() => closeSync(end));
    const child = run(`${HOLD} await held.value.ended; process.exit(7);`, ends.readEnd);
    const gone = Promise.withResolvers<void>();
    ends.handedOver(gone.promise);
    ends.close();
    await new Promise((turn) => setImmediate(turn));
    expect(readable([end])).toEqual([false]);
    gone.resolve();
    expect(await child.exited).toBe(7);
  });
});
