/** A capsule that an operator started: what a second signal does, and what the end of its terminal does. */

import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../kit/until.ts";
import { sharedParent } from "../parent.ts";
import { childBinary, processesOf, runArguments } from "../world.ts";

const { world, parent } = sharedParent();
let binary: string;
beforeAll(async () => {
  binary = await childBinary();
});

const at = (file: string) => join(world().workdir, file);
const isWindingDown = () => existsSync(at("winding-down"));
const statusOf = (sessionId: string) => parent().statusOf(sessionId);
const started: Bun.Subprocess[] = [];
afterEach(async () => {
  for (const capsule of started.splice(0)) {
    capsule.kill("SIGKILL");
    await capsule.exited;
  }
  for (const file of ["winding-down", "go"]) rmSync(at(file), { force: true });
});

/** What starts a program as `nohup` does. */
const NOHUP = ["/bin/sh", "-c", `trap '' HUP; exec "$0" "$@"`];

/** It has said its first line. */
async function start(mode: string, before: readonly string[] = []) {
  const capsule = Bun.spawn([...before, binary, ...runArguments(world().workdir)], {
    env: { ...parent().environment, CHILD_MODE: mode },
    cwd: world().workdir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(capsule);
  const words = capsule.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const line = async () => {
    let said = "";
    while (!said.endsWith("\n")) {
      const { done, value } = await words.read();
      if (done) throw new Error(`it ended after: ${said}`);
      said += value;
    }
    return said;
  };
  return { capsule, line, first: await line() };
}

async function winding(mode = "slow-agent") {
  const { capsule, first, line } = await start(mode);
  return { capsule, line, id: JSON.parse(first).session_id as string };
}

describe("once it winds down", () => {
  test.each([
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGTERM"],
    ["SIGTERM", "SIGTERM"],
  ] as const)("after %s, %s ends it at once", async (first, second) => {
    const { capsule } = await winding();
    capsule.kill(first);
    await until("it winds down", isWindingDown);
    capsule.kill(second);
    await until("it has ended", () => capsule.signalCode !== null);
    expect(capsule.signalCode).toBe(second);
  });

  test.each([
    ["SIGHUP", "SIGHUP"],
    ["SIGHUP", "SIGTERM"],
    ["SIGTERM", "SIGHUP"],
  ] as const)("after %s, %s does not cut it short, and it retires", async (first, second) => {
    const { capsule, id } = await winding();
    capsule.kill(first);
    await until("it winds down", isWindingDown);
    capsule.kill(second);
    writeFileSync(at("go"), "");
    expect(await capsule.exited).toBe(0);
    expect(await statusOf(id)).toBe("complete");
  });
});

test("a program that listens for SIGHUP itself is not ended by it", async () => {
  const { capsule, line } = await winding("slow-agent:rereads");
  capsule.kill("SIGHUP");
  expect(await line()).toBe("read again\n");
  expect(isWindingDown()).toBe(false);
  capsule.kill("SIGTERM");
  await until("it winds down", isWindingDown);
});

describe("under nohup", () => {
  // Of two signals that wait, the lower number comes first: SIGHUP is 1.
  test("SIGHUP does nothing before the program says what a signal does", async () => {
    const { capsule } = await start("open", NOHUP);
    capsule.kill("SIGHUP");
    capsule.kill("SIGTERM");
    await capsule.exited;
    expect(capsule.signalCode).toBe("SIGTERM");
  });

  test.skipIf(process.platform !== "linux")("it and its children ignore SIGHUP", async () => {
    const { capsule } = await start("siblings", NOHUP);
    const pids = processesOf(world().workdir);
    expect(pids).toHaveLength(5);
    for (const pid of pids) {
      const [, ignored] = /^SigIgn:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      expect(BigInt(`0x${ignored}`) & 1n).toBe(1n);
    }
    capsule.kill("SIGTERM");
    expect(await capsule.exited).toBe(0);
  });
});
