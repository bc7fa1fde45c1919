import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startDaemonProcess } from "./daemon-process.ts";
import { scratchDirectory } from "./scratch.ts";
import { until } from "./until.ts";

/** Starts a shell script in the daemon's place; it writes its pid to the file `pid` first. */
async function failedStart(home: string, script: string, signal?: AbortSignal) {
  const starting = startDaemonProcess({
    command: ["sh", "-c", `echo $$ > pid.new; mv pid.new pid; ${script}`],
    args: [],
    home,
    cwd: home,
    ...(signal && { signal }),
  });
  const error = await starting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, pid: Number(readFileSync(join(home, "pid"), "utf8")) };
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each([
  ["ends", "echo no luck >&2; exit 3", "no luck"],
  ["closes its stderr and lives on", "echo bye >&2; exec 2>&-; exec sleep 1000", "bye"],
])("a program that %s before it listens is gone when the start has failed", async (_, script, said) => {
  using home = scratchDirectory();
  const { error, pid } = await failedStart(home.path, script);
  expect(String(error)).toContain(`the daemon ended before it listened: ${said}`);
  expect(isThere(pid)).toBe(false);
});

test("a start that times out leaves no process, even if the program ignores SIGTERM", async () => {
  using home = scratchDirectory();
  const controller = new AbortController();
  const failed = failedStart(home.path, "trap '' TERM; exec sleep 1000", controller.signal);
  await until("the program runs", () => existsSync(join(home.path, "pid")));
  controller.abort();
  expect(isThere((await failed).pid)).toBe(false);
});
