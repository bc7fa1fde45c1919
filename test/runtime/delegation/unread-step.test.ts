/** A step whose child left a record that cannot be read. */

import { expect, test } from "bun:test";
import type { WatchedChild } from "../../../src/runtime/delegation/child.ts";
import { seeChild } from "../../../src/runtime/delegation/step-answer.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { noDescriptors, TOO_MANY } from "../../kit/no-descriptors.ts";
import { scratch } from "./kit.ts";
import { turns } from "./played.ts";
import { CLEAN, playedChild } from "./played-child.ts";

test("a script's step has failed: its exit status alone does not say that it completed", async () => {
  const clock = manualClock();
  const child = playedChild(scratch(), 0, { launched: { door: undefined } });
  child.writes({ status: "error", detail: "no luck" });
  const watched = { session: { clock }, child: child.launched, watchSecs: 20 } as unknown as WatchedChild;
  const give = noDescriptors();
  const seen = seeChild(watched, "", new AbortController().signal);
  child.leave(CLEAN);
  await turns();
  await clock.advance(3_000).finally(give);
  expect(await seen).toEqual({
    kind: "failed",
    text: `the completion.json of local/worker@0.1.0 could not be read: ${TOO_MANY}`,
  });
  child.launched.release();
});
