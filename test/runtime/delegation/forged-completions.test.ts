/** Completions that another process on loopback posts neither close a delegation nor block its answer. */

import { beforeAll, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../kit/until.ts";
import {
  blocksOf,
  continued,
  delegate,
  misdeed,
  recordOf,
  recordsOf,
  type Started,
  started,
} from "./driving.ts";
import type { Forgery } from "./forger-program.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();
/** One whose answer was received before. */
let closed: Started;
beforeAll(async () => {
  ({ child: closed } = await delegate(host(), "say:closed before"));
});
beforeEach(() => void host().trace());

/** Posted by another process, with what its door answered each. */
async function forge(...posts: readonly (readonly [delegation: string | undefined, session: string])[]) {
  const forgery: Forgery = {
    url: host().url.href,
    posts: posts.map(([delegation, session]) => ({
      "A2A-Version": "1.0",
      "x-murmur-task-origin": "completion",
      "x-murmur-completion-session": session,
      ...(delegation !== undefined && { "x-murmur-delegation-id": delegation }),
    })),
  };
  const forger = Bun.spawn([process.execPath, join(import.meta.dir, "forger-program.ts")], {
    stdio: [new Blob([JSON.stringify(forgery)]), "pipe", "inherit"],
  });
  return JSON.parse(await new Response(forger.stdout).text());
}

test("a child's answer arrives once, and not early, during a flood of every kind of forgery", async () => {
  const { clock, task } = host().clocked();
  const gate = join(host().world.home, "gate-of-the-forged");
  const child = await started(task, `when:${gate}`);
  const id = child.delegation_id;
  let settled = false;
  const settling = continued(task).finally(() => {
    settled = true;
  });
  const here = host().session.id;
  const kinds = [
    [id, here],
    [closed.delegation_id, here],
    ["dlg_unknown", here],
    [undefined, here],
    [id, "ses_another"],
  ] as const;
  const notAwaited = (metadata: object) => ({
    error: { code: -31002, data: [{ reason: "COMPLETION_NOT_AWAITED", metadata }] },
  });
  const answers = [
    { result: { delegation_id: id, received: true } },
    { result: { delegation_id: closed.delegation_id, received: true } },
    notAwaited({ delegationId: "dlg_unknown" }),
    notAwaited({}),
    { error: { code: -31001, data: [{ reason: "COMPLETION_MISADDRESSED" }] } },
  ];
  const rounds = 40;
  const flood = () => forge(...Array.from({ length: rounds }, () => kinds).flat());
  const all = Array.from({ length: rounds }, () => answers).flat();
  expect(await flood()).toMatchObject(all);
  // Twice the time in which a child must exit after its completion has arrived.
  await clock.advance(5_000);
  const second = flood();
  await clock.advance(5_000);
  expect(await second).toMatchObject(all);
  await clock.advance(5_000);
  expect(settled).toBe(false);
  expect(task.inFlight()).toEqual([id]);
  expect(await forge([id, here])).toMatchObject([answers[0]]);

  const third = flood();
  writeFileSync(gate, "");
  const { text, delegations, said } = await settling;
  expect(await third).toMatchObject(all);
  expect(delegations).toEqual([id]);
  const [block, ...more] = blocksOf(text);
  expect(more).toEqual([]);
  expect(block).toMatchObject({ delegationId: id, status: "ok" });
  expect(block?.body).toEndWith("\nresult:\nat last");
  expect(said).toEqual([
    "waiting on delegate-task: 1 delegation(s) outstanding",
    "continuing with 1 delegation outcome(s)",
  ]);
  expect(recordOf(host().world.home, child)).toMatchObject({
    status: "ok",
    reported_by: "child",
    delivered: true,
  });
  await forge([id, here]);
  expect(await task.settle({ kind: "finished", turnsLeft: 1 }, () => {})).toEqual({ kind: "done" });
  expect(
    host()
      .trace()
      .map(({ event }) => event),
  ).toEqual(["delegation_start", "delegation", "task_continued"]);
  await until("every timer is gone", () => clock.waiting() === 0);
});

test("a child's answer arrives despite another's record, or half of one, in its place", async () => {
  const { clock, task } = host().clocked();
  const gate = join(host().world.home, "gate-of-the-records");
  const answer = { end: { status: "ok", answer: "its own answer" } } as const;
  const children = await Promise.all([
    started(task, misdeed({ record: { delegation_id: closed.delegation_id }, until: gate, lastly: answer })),
    started(task, misdeed({ record: { session_id: closed.session_id }, until: gate, lastly: answer })),
    started(
      task,
      misdeed({ recordIs: { kind: "file", text: '{"delegation_id": "dlg_' }, until: gate, lastly: answer }),
    ),
  ]);
  const ids = children.map(({ delegation_id }) => delegation_id).sort();
  const written = (path: string) => Bun.file(join(path, "completion.json")).exists();
  await until("the records are there", async () => {
    const there = await Promise.all(children.map((child) => written(recordsOf(host().world.home, child))));
    return there.every((one) => one);
  });
  const settling = continued(task);
  const received = ids.map((id) => ({ result: { delegation_id: id, received: true } }));
  expect(await forge(...ids.map((id) => [id, host().session.id] as const))).toMatchObject(received);
  await clock.advance(5_000);
  expect(task.inFlight()).toEqual(ids);
  writeFileSync(gate, "");
  const { text } = await settling;
  const blocks = blocksOf(text);
  expect(blocks.map(({ delegationId }) => delegationId)).toEqual(ids);
  for (const { status, body } of blocks) {
    expect(status).toBe("ok");
    expect(body).toEndWith("\nresult:\nits own answer");
  }
  const lines = host()
    .trace()
    .filter(({ event }) => event === "delegation");
  expect(lines.map(({ delegation_id }) => String(delegation_id)).sort()).toEqual(ids);
  expect(recordOf(host().world.home, closed)).toMatchObject({
    delegation_id: closed.delegation_id,
    status: "ok",
  });
});
