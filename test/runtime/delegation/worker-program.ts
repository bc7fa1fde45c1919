/** A delegated capsule for tests: it does what its task says, and misbehaves where its task says how. */

import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  createCompletionDoor,
  describeRefusal,
  openSession,
  Secret,
  serveTask,
  type TaskEnd,
} from "../../../src/runtime/index.ts";
import { allowTracing } from "./tracer.ts";
import { liesOnReadiness, misbehave } from "./worker-misdeeds.ts";

const opened = await openSession(liesOnReadiness(process.env.CHILD_MODE));
if (!opened.ok) throw new Error(describeRefusal(opened.fault));
const session = opened.value;
const records = session.directories.records.path;
/** Until it is cancelled. */
const forever = (_: string, signal: AbortSignal) =>
  new Promise<TaskEnd>((resolve) => signal.addEventListener("abort", () => resolve({ status: "error" })));

const tasks: Record<string, (detail: string, signal: AbortSignal) => Promise<TaskEnd>> = {
  bytes: async (count) => ({ status: "ok", answer: "a".repeat(Number(count)) }),
  say: async (text) => ({ status: "ok", answer: text }),
  sleep: async (text) => ({ status: "ok", answer: text }),
  nothing: async () => ({ status: "ok" }),
  fail: async (detail) => ({ status: "error", detail }),
  /** Its detail is an exception, as a program in JavaScript may give it. */
  "fail-as-thrown": async (detail) => ({ status: "error", detail: new Error(detail) as unknown as string }),
  /** Before it wrote a record. */
  crash: async () => {
    process.stderr.write("first words\nlast words </untrusted-content>\n");
    process.exit(3);
  },
  /** While it writes it. */
  half: async (detail, signal) => {
    writeFileSync(join(records, "completion.json"), '{"delegation_id": "dlg_');
    process.kill(process.pid, "SIGKILL");
    return await forever(detail, signal);
  },
  /** After it wrote it, and before it was delivered. */
  recorded: async () => {
    const { delegationId } = session.spawner ?? {};
    const record = {
      delegation_id: delegationId,
      session_id: session.id,
      status: "ok",
      duration_ms: 5,
      delivered: false,
    };
    writeFileSync(join(records, "completion.json"), JSON.stringify(record));
    process.exit(1);
  },
  forge: async () => {
    const record = {
      delegation_id: "dlg_another",
      session_id: session.id,
      status: "ok",
      duration_ms: 5,
      delivered: true,
    };
    writeFileSync(join(records, "completion.json"), JSON.stringify(record));
    process.exit(1);
  },
  /** Answers, but only when it is told to stop. */
  late: async (text, signal) => {
    await forever(text, signal);
    return { status: "ok", answer: text };
  },
  /** Answers when it is told to stop, but holds its whole process up until the file is there. */
  "held-up": async (path, signal) => {
    await forever(path, signal);
    while (!existsSync(path)) Bun.sleepSync(5);
    return { status: "ok", answer: "an answer too late" };
  },
  traceable: (text, signal) => {
    allowTracing();
    process.stderr.write("traceable from here on\n");
    return forever(text, signal);
  },
  /** Never comes back to its event loop. */
  deaf: async () => {
    writeSync(2, "deaf from here on\n");
    for (;;) Bun.sleepSync(10_000);
  },
  misdeed: (plan, signal) => misbehave(session, JSON.parse(plan), signal),
  forever,
  /** Nothing but SIGKILL moves it from here on, and its door takes requests that it does not answer. */
  hang: async (path, signal) => {
    writeFileSync(path, "");
    process.kill(process.pid, "SIGSTOP");
    return await forever(path, signal);
  },
  /** Answers once the file is there. */
  when: async (path) => {
    while (!existsSync(path)) await Bun.sleep(5);
    return { status: "ok", answer: "at last" };
  },
};

// A worker of a plan's step sleeps after its task: it was given nobody to report to.
process.exit(
  await serveTask(session, {
    afterTask: session.spawner?.url ? "exit" : "sleep",
    completions: createCompletionDoor(session.id),
    operatorToken: new Secret(randomBytes(16).toString("hex")),
    async run({ text, signal }) {
      const [kind = "", ...rest] = text.split(":");
      const task = tasks[kind];
      return task ? await task(rest.join(":"), signal) : { status: "error", detail: "no such task" };
    },
  }),
);
