import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const SIGNALS = join(import.meta.dir, "../../src/sys/process.ts");

test("a handler of SIGCHLD is not replaced", async () => {
  const program = `
    import { keepExitStatuses } from "${SIGNALS}";
    process.on("SIGCHLD", () => process.exit(9));
    console.log(keepExitStatuses().ok);
    process.kill(process.pid, "SIGCHLD");
    setTimeout(() => {}, 60_000);`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await new Response(child.stdout).text()).toBe("true\n");
  expect(await child.exited).toBe(9);
});
