/** A delegated capsule whose door asks for no token, and whose task is its answer. */

import { describeRefusal, openSession, serveTask } from "../../../src/runtime/index.ts";

const opened = await openSession();
if (!opened.ok) throw new Error(describeRefusal(opened.fault));

process.exit(
  await serveTask(opened.value, {
    async run({ text, signal }) {
      if (text !== "forever") return { status: text === "fail" ? "error" : "ok", answer: text };
      await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
      return { status: "ok" };
    },
  }),
);
