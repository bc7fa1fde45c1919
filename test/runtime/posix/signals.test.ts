/** What a process may have inherited from whoever started it, for a mask and a disposition survive exec. Linux only. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(60_000);

const SIGNALS = join(import.meta.dir, "../../../src/runtime/posix/signals.ts");

/** Becomes a program whose every thread has the signal blocked. */
const BLOCKED = `
  import { dlopen, ptr } from "bun:ffi";
  const { symbols } = dlopen("libc.so.6", {
    sigemptyset: { args: ["ptr"], returns: "i32" },
    sigaddset: { args: ["ptr", "i32"], returns: "i32" },
    pthread_sigmask: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    execv: { args: ["ptr", "ptr"], returns: "i32" },
  });
  const set = new Uint8Array(128);
  symbols.sigemptyset(set);
  symbols.sigaddset(set, 15);
  symbols.pthread_sigmask(0, set, null);
  const words = [process.execPath, "--no-env-file", "-e", process.env.PROGRAM].map((word) => Buffer.from(word + "\\0"));
  symbols.execv(words[0], new BigUint64Array([...words.map((word) => BigInt(ptr(word))), 0n]));
`;

describe.skipIf(process.platform !== "linux")("a program whose starter blocked SIGTERM", () => {
  test("is told to end by it all the same", async () => {
    const program = `
      import { admitTermination } from "${SIGNALS}";
      import { readFileSync } from "node:fs";
      process.on("SIGTERM", () => process.exit(9));
      const blocked = BigInt("0x" + /^SigBlk:\\s+(\\w+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1]);
      //admitTermination();
      console.log((blocked >> 14n) & 1n);
      setInterval(() => {}, 1000);`;
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", BLOCKED], {
      env: { PATH: process.env.PATH, PROGRAM: program },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    // It was blocked: the test is one.
    expect((await said.read()).value).toBe("1\n");
    child.kill("SIGTERM");
    expect(await child.exited).toBe(9);
  });
});

test("a handler of SIGCHLD is left where it is", async () => {
  const program = `
    import { keepExitStatuses } from "${SIGNALS}";
    process.on("SIGCHLD", () => process.exit(9));
    console.log(keepExitStatuses().ok);
    process.kill(process.pid, "SIGCHLD");
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await new Response(child.stdout).text()).toBe("true\n");
  expect(await child.exited).toBe(9);
});
