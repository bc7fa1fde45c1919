/** A capsule that stops waiting for its task as soon as its door is open. */

import { openSession, serveTask } from "../../src/runtime/index.ts";

const opened = await openSession();
if (!opened.ok) throw new Error(opened.fault.message);
const cancel = new AbortController();
const status = await serveTask(opened.value, {
  signal: cancel.signal,
  run: async () => ({ status: "ok" }),
  onListening: () => setImmediate(() => cancel.abort()),
});
process.exit(status);
