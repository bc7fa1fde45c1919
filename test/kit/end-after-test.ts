import { onTestFinished } from "bun:test";

/** Ends this process once the test has finished that calls this, also if it failed half-way. */
export function endAfterTest<T extends Bun.Subprocess>(process: T): T {
  onTestFinished(async () => {
    process.kill("SIGKILL");
    await process.exited;
  });
  return process;
}
