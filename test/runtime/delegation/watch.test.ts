/** How one delegation is closed: whose record counts, what was posted, what the trace says. */

import { describe, expect, onTestFinished, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ok } from "../../../src/result.ts";
import type { ChildRecords } from "../../../src/runtime/launch/outcome.ts";
import { type HeldDirectory, holdDirectory } from "../../../src/runtime/tree/held.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { openDirectoryPath } from "../../../src/sys/entries.ts";
import { describeError } from "../../../src/sys/library.ts";
import { noDescriptors, TOO_MANY } from "../../kit/no-descriptors.ts";
import { hold } from "./kit.ts";
import { type PlayedTask, playedTask, settled, turns, WATCH_SECS } from "./played.ts";
import { CLEAN, KILLED, type Play, type PlayedChild } from "./played-child.ts";

const CANCELED = "the delegating task was cancelled";
const DEADLINE = `still running at its deadline of ${WATCH_SECS}s (lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS)`;
/** Nothing ends it, like a process that the kernel does not release. */
const unkillable: Play = { onSignal: () => {} };

describe("a child's record that needs its launcher", () => {
  test("is delivered once if the child dies between the door's answer and its second write", async () => {
    const played = playedTask();
    const child = await played.start();
    child.writes({ delivered: false });
    expect(played.post(child)).toMatchObject({ result: { received: true } });
    await turns();
    child.leave(KILLED);
    expect(await settled(played)).toContain("ended ok:");
    expect(child.record()).toMatchObject({ status: "ok", reported_by: "child", delivered: true });
  });

  test("is delivered without its own post's failure if somebody else had posted before", async () => {
    const played = playedTask();
    const child = await played.start();
    played.post(child);
    await turns();
    child.writes({ delivered: false, delivery_error: "connect ECONNREFUSED" });
    child.leave(CLEAN);
    expect(await settled(played)).toContain("ended ok:");
    expect(child.record()).toMatchObject({ delivered: true });
    expect(child.record()).not.toHaveProperty("delivery_error");
  });

  test("is delivered once if the child does not exit after its post and is ended", async () => {
    const played = playedTask();
    const child = await played.start();
    child.writes({ status: "error", detail: "no luck", delivered: false });
    played.post(child);
    expect(await settled(played)).toContain("ended error:");
    expect(child.signals).toEqual(["SIGTERM"]);
    expect(child.record()).toMatchObject({ status: "error", detail: "no luck", delivered: true });
  });

  test("is left as it was written if it was already delivered", async () => {
    const played = playedTask();
    const child = await played.start();
    child.writes({ delivered: true, of_its_own: "words" });
    played.post(child);
    await settled(played);
    expect(child.signals).toEqual(["SIGTERM"]);
    expect(child.record()).toMatchObject({ delivered: true, of_its_own: "words" });
    expect(played.diagnosed).toEqual([]);
  });

  test("is restored if it is spoilt while the child is being ended", async () => {
    const played = playedTask();
    const child = await played.start({
      onSignal: (_, self) => {
        writeFileSync(join(self.path, "completion.json"), "spoilt");
        self.leave(CLEAN);
      },
    });
    child.writes();
    played.post(child);
    expect(await settled(played)).toContain("ended ok:");
    expect(child.record()).toMatchObject({ status: "ok", reported_by: "child", delivered: true });
  });
});

describe("a child without a readable record", () => {
  const unreadable = (): Play => ({
    launched: { records: { ok: false, fault: "the child reported no records directory" } },
  });
  const SEEN =
    "no record of how it ended can be read: the child reported no records directory; what its launcher saw: ";

  const ends: [string, (played: PlayedTask) => Promise<unknown>, string][] = [
    ["cancelled", ({ task }) => task.cancel(), CANCELED],
    [
      "without a turn left",
      ({ task }) => task.settle({ kind: "finished", turnsLeft: 0 }, () => {}),
      "the delegating task had no inference turn left to read this outcome",
    ],
    [
      "failed",
      ({ task }) => task.settle({ kind: "ended", exitStatus: "error" }, () => {}),
      "the delegating task ended error before this sub-capsule finished",
    ],
    ["past its deadline", (played) => settled(played), DEADLINE],
  ];
  test.each(ends)("is terminated in the trace with exactly this reason: %s", async (_, end, reason) => {
    const played = playedTask();
    await played.start(unreadable());
    await end(played);
    expect(played.closes()).toEqual([{ outcome: "terminated", reason }]);
  });

  test("is terminated at its backstop too, and its task hears that it is unknown, and why", async () => {
    const played = playedTask();
    await played.start({ ...unkillable, ...unreadable() });
    const reason = `no outcome reached the delegating task within ${WATCH_SECS + 30}s of this sub-capsule starting`;
    const text = await settled(played);
    expect(text).toContain("ended unknown:\n");
    expect(text).toContain(`\n${SEEN}${reason}\n`);
    expect(played.closes()).toEqual([{ outcome: "terminated", reason }]);
  });

  test("that ended by itself has an unknown outcome with its exit status", async () => {
    const played = playedTask();
    const child = await played.start(unreadable());
    child.leave(KILLED);
    const text = await settled(played);
    expect(text).toContain(`ended unknown:\n<untrusted-content source=delegation:worker>\n${SEEN}signal: 9`);
    expect(played.closes()).toEqual([
      { outcome: "unknown", reason: expect.stringMatching(/signal: 9 \(SIGKILL\)$/) },
    ]);
  });

  test("because something is in its place causes one line and an unknown outcome", async () => {
    const played = playedTask();
    const child = await played.start();
    mkdirSync(join(child.path, "completion.json"));
    child.leave({ kind: "exited", status: 3 });
    expect(await settled(played)).toContain("its completion.json could not be written");
    expect(played.diagnosed).toEqual([
      "completion.json of delegation dlg_0 could not be written: Is a directory (os error 21)",
    ]);
  });
});

test("a records directory that cannot be opened for good holds up no end of its child", async () => {
  const played = playedTask();
  const child = await played.start({ onSignal: (_, self) => self.leave(CLEAN) });
  const records: ChildRecords = { ok: false, fault: "Permission denied", unclear: "unreadable" };
  Object.defineProperty(child.launched, "records", { value: records });
  const canceled = played.task.cancel();
  await turns();
  expect(child.signals).toEqual(["SIGTERM"]);
  await canceled;
  expect(played.closes()).toMatchObject([{ outcome: "terminated" }]);
});

/** Its records directory is not held yet. It is opened when it is asked for, as that of a launched child. */
function letGo({ path, launched }: PlayedChild): void {
  let held: HeldDirectory | undefined;
  onTestFinished(() => held?.close());
  const records = (): ChildRecords => {
    if (held) return ok(held);
    const opened = openDirectoryPath(path);
    if (!opened.ok) return { ok: false, fault: describeError(opened.fault), unclear: "no-descriptor" };
    held = holdDirectory(path, opened.value);
    return ok(held);
  };
  Object.defineProperty(launched, "records", { get: records });
}

describe.each<[string, (child: PlayedChild) => void, string]>([
  ["record", () => {}, `its completion.json could not be read: ${TOO_MANY}`],
  ["records directory", letGo, TOO_MANY],
])("a %s that no descriptor is free for", (_, prepare, why) => {
  async function leftUnread() {
    const played = playedTask();
    const child = await played.start();
    prepare(child);
    child.writes({ of_its_own: "words" });
    child.answers("an answer");
    const give = noDescriptors();
    child.leave(CLEAN);
    await turns();
    return { played, child, give };
  }

  test("counts once it can be read", async () => {
    const { played, child, give } = await leftUnread();
    await played.clock.advance(1_000).finally(give);
    const text = await settled(played);
    expect(text).toContain("ended ok:");
    expect(text).toContain("\nresult:\nan answer\n");
    expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
    expect(played.diagnosed).toEqual([]);
  });

  test("is never written over, and the task hears why its outcome is unknown", async () => {
    const { played, child, give } = await leftUnread();
    await played.clock.advance(3_000).finally(give);
    const text = await settled(played);
    expect(text).toContain("ended unknown:");
    const seen = "what its launcher saw: exit status: 0";
    expect(text).toContain(`no record of how it ended can be read: ${why}; ${seen}\n`);
    expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
  });

  test("counts if it can be read once the child that had posted it was ended", async () => {
    let give = () => {};
    const played = playedTask();
    const child = await played.start({
      onSignal: (_, self) => {
        give();
        self.leave(CLEAN);
      },
    });
    prepare(child);
    child.writes({ of_its_own: "words" });
    played.post(child);
    await turns();
    give = noDescriptors();
    const canceled = played.task.cancel();
    await turns();
    await played.clock.advance(3_000).finally(() => give());
    await canceled;
    expect(child.signals).toEqual(["SIGTERM"]);
    expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
    expect(played.closes()).toEqual([{ outcome: "ok", reason: null }]);
  });

  test.each(["reports", "exits"])(
    "counts if its child %s while the task that ends it waits for a descriptor",
    async (what) => {
      const played = playedTask();
      const child = await played.start();
      prepare(child);
      child.writes({ of_its_own: "words" });
      const give = noDescriptors();
      const canceled = played.task.cancel();
      try {
        await turns();
        if (what === "exits") child.leave(CLEAN);
        else expect(played.post(child)).toMatchObject({ result: { received: true } });
        await turns();
      } finally {
        give();
      }
      await played.clock.advance(3_000);
      await canceled;
      expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
      expect(played.closes()).toEqual([{ outcome: "ok", reason: null }]);
    },
  );

  test("stays if its child did not accept its task", async () => {
    let give = () => {};
    const played = playedTask({
      deliver: async () => {
        give = noDescriptors();
        return { ok: false, fault: "it rejected the task" };
      },
    });
    const child = played.child({
      onSignal: (_, self) => {
        give();
        self.leave(CLEAN);
      },
    });
    prepare(child);
    child.writes({ of_its_own: "words" });
    const called = played.call();
    await turns();
    await played.clock.advance(3_000).finally(() => give());
    expect((await called).kind).toBe("failed");
    expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
  });
});

test("no file of a child is read for a completion, however many are posted", async () => {
  const played = playedTask();
  const child = await played.start();
  const { records } = child.launched;
  let reads = 0;
  Object.defineProperty(child.launched, "records", {
    get() {
      reads++;
      return records;
    },
  });
  for (let count = 0; count < 1_000; count++) played.post(child);
  await turns();
  expect(reads).toBe(0);
  child.writes();
  child.leave(CLEAN);
  expect(await settled(played)).toContain("ended ok:");
  expect(reads).toBeGreaterThan(0);
});

describe("a child that nothing ends", () => {
  test("keeps the outcome that it reported", async () => {
    const played = playedTask();
    const child = await played.start(unkillable);
    child.writes({ of_its_own: "words" });
    child.answers("an answer");
    played.post(child);
    const text = await settled(played);
    expect(text).toContain("ended ok:");
    expect(text).toContain("\nresult:\nan answer\n");
    expect(played.closes()).toEqual([{ outcome: "ok", reason: null }]);
    expect(child.record()).toMatchObject({ status: "ok", of_its_own: "words" });
  });

  test.each<[string, (played: PlayedTask) => Promise<unknown>]>([
    ["its deadline", (played) => settled(played)],
    ["its completion", (played) => settled(played)],
    [
      "its task's end",
      async ({ task, clock }) => {
        const canceling = task.cancel();
        await clock.advance((WATCH_SECS + 40) * 1_000);
        return canceling;
      },
    ],
  ])(
    "and that ends long after %s does not affect the folder that has its descriptor numbers by then",
    async (what, finish) => {
      const played = playedTask();
      const child = await played.start(unkillable);
      if (what === "its completion") {
        child.writes();
        played.post(child);
      }
      await finish(played);
      expect(child.released()).toBe(true);
      const stranger = join(played.root, "stranger");
      mkdirSync(stranger);
      const taken = Array.from({ length: 8 }, () => hold(stranger));
      writeFileSync(join(stranger, "completion.json"), "a stranger's");
      const before = played.closes();
      child.leave(KILLED);
      await turns();
      await played.clock.advance(10_000);
      await turns();
      expect(await Bun.file(join(stranger, "completion.json")).text()).toBe("a stranger's");
      expect(played.closes()).toEqual(before);
      for (const descriptor of taken) close(descriptor);
    },
  );
});
