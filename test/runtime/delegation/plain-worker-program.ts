/** A delegated capsule whose door asks for no token, and whose task is its answer. SIGUSR2 makes its program end it. */

import { writeFileSync } from "node:fs";
import { describeRefusal, openSession, serveTask } from "../../../src/runtime/index.ts";

const opened = await openSession();
if (!opened.ok) throw new Error(describeRefusal(opened.fault));
const session = opened.value;
const ending = new AbortController();
process.on("SIGUSR2", () => ending.abort());
// A program may also end with its spawner by itself.
void session.lifeline?.ended.then(() => ending.abort());

process.exit(
  await serveTask(session, {
    signal: ending.signal,
    async run({ text, signal }) {
      if (text !== "forever" && text !== "slow")
        return { status: text === "fail" ? "error" : "ok", answer: text };
      writeFileSync("begun", "");
      await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
      if (text === "slow") {
        // Its program's end counts from the next turn on.
        await new Promise((turn) => setImmediate(turn));
        writeFileSync("winding-down", "");
        await session.lifeline?.ended;
      }
      return { status: "ok" };
    },
  }),
);
