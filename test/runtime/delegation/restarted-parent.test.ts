/** A parent is killed and starts again on the same address: the new session does not take the old one's completions. */

import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { leasePort } from "../../kit/leased-port.ts";
import { until } from "../../kit/until.ts";
import { processesOf, runArguments } from "../world.ts";
import { blocksOf, type Continued, recordOf, recordsOf, type Started } from "./driving.ts";
import { workerBinary } from "./host.ts";
import { sharedHost } from "./shared-host.ts";

const parents: Bun.Subprocess[] = [];
// Registered before the host's own end.
afterAll(async () => {
  for (const parent of parents) parent.kill("SIGKILL");
  await Promise.all(parents.map((parent) => parent.exited));
});
const host = sharedHost();

/** What a parent tells of itself, in this order. */
interface Steps {
  readonly session: string;
  readonly records: string;
  readonly door: string;
  readonly child: Started;
  readonly told: Continued;
}

/** A parent process; `next` waits until it has told a step. */
async function startParent(port: number, task: string) {
  const run = runArguments(host().world.workdir);
  const program = join(import.meta.dir, "parent-program.ts");
  const parent = Bun.spawn([process.execPath, program, ...run, String(port), task], {
    env: {
      PATH: process.env.PATH,
      HOME: host().world.home,
      MURMUR_ROOST_URL: host().world.roostUrl,
      MURMUR_MUR_BINARY: await workerBinary(),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  parents.push(parent);
  const lines = parent.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const told: Partial<Steps> = {};
  return {
    process: parent,
    told,
    async next<K extends keyof Steps>(step: K): Promise<Steps[K]> {
      for (;;) {
        const value = told[step];
        if (value !== undefined) return value as Steps[K];
        const chunk = await lines.read();
        if (chunk.done) throw new Error(`the parent ended before it told its ${step}`);
        const whole = (text + chunk.value).split("\n");
        text = whole.pop() ?? "";
        for (const line of whole) Object.assign(told, JSON.parse(line));
      }
    },
  };
}

test("a restarted parent refuses the old child's completion as misaddressed and continues", async () => {
  const gateOfOld = join(host().world.home, "gate-of-the-old");
  const gateOfNew = join(host().world.home, "gate-of-the-new");
  // Nobody else may take it between the two.
  await using leased = await leasePort();
  const { port } = leased;
  const old = await startParent(port, `held-up:${gateOfOld}`);
  const orphan = await old.next("child");
  expect(await old.next("door")).toBe(`http://127.0.0.1:${port}/`);
  const addressed = await old.next("session");
  const renewed = await startParent(port, `when:${gateOfNew}`);
  expect(await renewed.next("session")).not.toBe(addressed);
  expect(renewed.told.door).toBeUndefined();
  old.process.kill("SIGKILL");
  // The old parent's child cannot report before its gate is open, and is cut short 20 s after its parent's end.
  expect(await renewed.next("door")).toBe(`http://127.0.0.1:${port}/`);
  writeFileSync(gateOfOld, "");
  await until("the old one's child has told its end", () => processesOf(orphan.child_workdir).length === 0);
  const child = await renewed.next("child");

  const misaddressed = `completion is addressed to session ${addressed}, which is not the session running here`;
  expect(recordOf(host().world.home, orphan)).toMatchObject({
    delegation_id: orphan.delegation_id,
    session_id: orphan.session_id,
    // It answered after its spawner, and so its task, had ended.
    status: "error",
    reported_by: "child",
    delivered: false,
    delivery_error: misaddressed,
  });
  const traced = readFileSync(join(recordsOf(host().world.home, orphan), "trace.jsonl"), "utf8").trimEnd();
  expect(traced.split("\n").map((line) => JSON.parse(line))).toMatchObject([
    { event: "session_start" },
    { event: "spawner_ended" },
    { event: "session_end", exit_status: "canceled" },
  ]);
  const log = readFileSync(join(recordsOf(host().world.home, orphan), "logs", "bootstrap.log"), "utf8");
  expect(log).toBe(
    `the completion of delegation ${orphan.delegation_id} was not delivered: ${misaddressed}\n`,
  );
  // The same post again, to check the response; also for a delegation that the new parent waits for.
  for (const named of [orphan.delegation_id, child.delegation_id]) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: {
        "A2A-Version": "1.0",
        "x-murmur-task-origin": "completion",
        "x-murmur-delegation-id": named,
        "x-murmur-completion-session": addressed,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "SendMessage", params: {} }),
    });
    expect(await answer.json()).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: {
        code: -31001,
        message: misaddressed,
        data: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "COMPLETION_MISADDRESSED",
            domain: "murmur.nexus",
            metadata: { addressedSession: addressed },
          },
        ],
      },
    });
  }

  expect(renewed.told.told).toBeUndefined();
  expect(processesOf(child.child_workdir)).toHaveLength(1);
  writeFileSync(gateOfNew, "");
  const { text, delegations, said } = await renewed.next("told");
  expect(delegations).toEqual([child.delegation_id]);
  expect(blocksOf(text)).toMatchObject([
    {
      delegationId: child.delegation_id,
      status: "ok",
      body: expect.stringMatching(/\nresult:\nat last$/),
    },
  ]);
  expect(said).toEqual([
    "waiting on delegate-task: 1 delegation(s) outstanding",
    "continuing with 1 delegation outcome(s)",
  ]);
  const trace = readFileSync(join(await renewed.next("records"), "trace.jsonl"), "utf8");
  expect(trace).not.toContain(orphan.delegation_id);
  // The child whose parent was killed has ended as it should, and gives its slot back.
  const { client } = host().session.registration;
  expect(await client.status(orphan.session_id)).toMatchObject({ value: { status: "failed" } });
});
