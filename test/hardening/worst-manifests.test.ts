/** Manifests that are as much work as one may be: others are answered while they are read, lowered and compared. */

import { expect, test } from "bun:test";
import { seeded, worstCase } from "../../bench/worst-manifests.ts";
import { sharedFamily } from "../kit/family.ts";
import { shared } from "../kit/shared.ts";
import { until } from "../kit/until.ts";
import { AROUND, besides } from "./besides.ts";

const host = sharedFamily();
const daemon = shared(() => host().start());
const random = seeded(20_261_130);

test("while they are judged, others are answered many times, and the verdict is right", async () => {
  const { caller } = daemon();
  let sessions = 0;
  for (let round = 0; round < 2; round++) {
    const { what, parent, child } = worstCase(random);
    // Starts again if a busy machine let no other client ask in time.
    await until("others are answered many times over", async () => {
      await host().publishManifest("local/parent", parent.replaceAll("local/subject", "local/child"));
      await host().publishManifest("local/child", child);
      const credential = await caller.credential(`ses_${sessions++}`, "local/parent");
      const { result, others } = await besides(caller, caller.spawn(credential, "local/child"));
      const told = result.status === 200 ? result.json.name : result.json.error;
      expect([what, told]).toEqual([
        what,
        expect.stringMatching(/^local\/child$|which its parent does not hold/),
      ]);
      expect((await caller.deregister(credential)).status).toBe(200);
      return others > AROUND + 1;
    });
  }
});
