/**
 * Starts a child with 0, 1, 2, … descriptors left to open, and prints what became of each as JSON: why it was not started,
 * or its status and its output.
 */

import { closeSync, openSync } from "node:fs";
import { messageOf } from "../../../src/os-error.ts";
import { describeExit } from "../../../src/runtime/launch/held-process.ts";
import { until } from "../../kit/until.ts";
import { shell, start } from "./starting.ts";

async function outcome(): Promise<string> {
  try {
    const child = start(shell("echo '{}'; echo more; echo words >&2; exit 0"));
    const status = describeExit(await child.exited);
    const [words = ""] = await child.lastStderrLines();
    await until("its output is read", () => child.written.text === "more\n" || child.diagnosed.length > 0);
    return [status, child.written.text.trim(), words, ...child.diagnosed].join(", ");
  } catch (error) {
    return `not started: ${messageOf(error)}`;
  }
}

const outcomes = [await outcome()];
const taken: number[] = [];
try {
  for (;;) taken.push(openSync("/dev/null", "r"));
} catch {
  // None is left.
}
for (let free = 0; free <= 16; free++) {
  outcomes.push(await outcome());
  closeSync(taken.pop() ?? -1);
}
process.stdout.write(JSON.stringify(outcomes));
