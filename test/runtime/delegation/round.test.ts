import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { FINISHED, playedTask, turns } from "./played.ts";
import { CLEAN, KILLED, type PlayedChild } from "./played-child.ts";

/** What a child can do by itself. */
const DEEDS = {
  answer(child, post) {
    child.writes();
    post();
    child.leave(CLEAN);
  },
  "answer-and-stay"(child, post) {
    child.writes();
    post();
  },
  /** Between the door's answer and the second write of its record. */
  "die-after-its-post"(child, post) {
    child.writes({ delivered: false });
    post();
    child.leave(KILLED);
  },
  "stay-after-its-post"(child, post) {
    child.writes({ delivered: false });
    post();
  },
  "fail-to-post"(child) {
    child.writes({ delivered: false, delivery_error: "nobody listens" });
    child.leave(CLEAN);
  },
  die: (child) => child.leave(KILLED),
  "half-a-record": ({ path }) => writeFileSync(join(path, "completion.json"), '{"delegation_id"'),
  "forged-post": (_, post) => post(),
} as const satisfies Record<string, (child: PlayedChild, post: () => void) => void>;
type Deed = keyof typeof DEEDS;
const ALL_DEEDS = Object.keys(DEEDS) as Deed[];

/** What one child does by itself, at a second of its life. */
interface Behaviour {
  readonly deeds: readonly { readonly at: number; readonly deed: Deed }[];
  /** What SIGTERM comes to. */
  readonly onTerm: "exits" | "ignores" | "answers-late";
}

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  deeds: fc.array(fc.record({ at: fc.nat(30), deed: fc.constantFrom(...ALL_DEEDS) }), { maxLength: 3 }),
  onTerm: fc.constantFrom("exits" as const, "ignores" as const, "answers-late" as const),
});

test("a round closes every delegation exactly once, whatever its children and its task do", async () => {
  const round = fc.record({
    children: fc.array(behaviour, { minLength: 1, maxLength: 8 }),
    cancelAt: fc.option(fc.nat(40), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(round, async ({ children, cancelAt }) => {
      await play(children, cancelAt);
    }),
    { numRuns: 120, endOnFailure: true },
  );
});

const CANCELED = "the delegating task was cancelled";

async function play(behaviours: readonly Behaviour[], cancelAt: number | undefined): Promise<void> {
  const before = openFiles();
  const played = playedTask();
  const { task, clock } = played;
  const living: PlayedChild[] = [];
  for (const { onTerm } of behaviours) {
    const onSignal = (signal: string, child: PlayedChild) => {
      if (signal === "SIGTERM" && onTerm === "ignores") return;
      if (signal === "SIGTERM" && onTerm === "answers-late") child.writes({ delivered: false });
      child.leave(signal === "SIGKILL" ? KILLED : CLEAN);
    };
    living.push(await played.start({ onSignal }));
  }
  const said: string[] = [];
  let settled: Awaited<ReturnType<typeof task.settle>> | undefined;
  void task
    .settle(FINISHED, (status) => said.push(status))
    .then((end) => {
      settled = end;
    });
  let canceling: Promise<unknown> | undefined;
  for (let second = 0; second < 70 && !(settled && task.inFlight().length === 0); second++) {
    for (const [index, child] of living.entries()) {
      for (const { at, deed } of behaviours[index]?.deeds ?? []) {
        if (at === second && !child.gone()) DEEDS[deed](child, () => void played.post(child));
      }
    }
    if (second === cancelAt && !settled) canceling = task.cancel();
    await clock.advance(1_000);
    await turns();
  }
  await canceling;

  if (!settled) throw new Error("the round did not settle");
  const ids = living.map(({ id }) => id);
  const lines = played.trace();
  for (const child of living) {
    expect(child.gone()).toBe(true);
    const record = child.record();
    const closed = lines.filter((line) => line.event === "delegation" && line.delegation_id === child.id);
    expect(record.delegation_id).toBe(child.id);
    expect(closed.map((line) => line.outcome)).toEqual([record.status]);
    // Every outcome reaches the door, whoever reports it, except that of a child that its task ended.
    expect(record.delivered).toBe(closed[0]?.reason !== CANCELED);
  }
  if (canceling) {
    expect(settled).toEqual({ kind: "done" });
  } else {
    if (settled.kind !== "continue") throw new Error("nothing to go on with");
    expect(settled.delegations).toEqual(ids);
    const heads = [...settled.text.matchAll(/^\[delegate-task\] delegation \S+/gm)].map(([head]) => head);
    expect(heads).toEqual(ids.map((id) => `[delegate-task] delegation ${id}`));
    const counts = said.map((status) => Number(/\d+/.exec(status)?.[0]));
    expect(counts).toEqual([...ids.map((_, index) => ids.length - index), ids.length]);
  }
  expect(clock.waiting()).toBe(0);
  played.remove();
  await noMoreFilesThan(before);
}
