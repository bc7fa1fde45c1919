/**
 * The capsule of `npm run soak:children`. A top-level one delegates two tasks at a time until it is killed. A child sleeps
 * for as many milliseconds as its task says.
 */

import { canDelegate, describeRefusal, openSession, serveTask } from "../../src/runtime/index.ts";
import { delegateOnce, delegating } from "./delegating.ts";

const opened = await openSession();
if (!opened.ok) {
  process.stderr.write(`${describeRefusal(opened.fault)}\n`);
  process.exit(1);
}
const session = opened.value;
if (!session.spawner && canDelegate(session)) {
  const { task } = delegating(session);
  const work = async () => {
    for (;;) await delegateOnce(task(), "50");
  };
  await Promise.all([work(), work()]);
}
process.exit(
  await serveTask(session, {
    async run({ text }) {
      await Bun.sleep(Number(text));
      return { status: "ok", answer: "slept" };
    },
  }),
);
