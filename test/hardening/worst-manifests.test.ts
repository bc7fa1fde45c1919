/** Manifests that are as much work as one may be: others are answered while they are read, lowered and compared. */

import { expect, test } from "bun:test";
import { seeded, worstCase } from "../../bench/worst-manifests.ts";
import { ask, askSpawn, registerRoot, sharedDaemon } from "./kit.ts";

const { home, daemon } = sharedDaemon();
const random = seeded(20_261_130);

test("while they are judged others are answered many times over, and the verdict is right", async () => {
  for (let round = 0; round < 2; round++) {
    const { what, parent, child } = worstCase(random);
    await home.publish("local/parent", parent.replaceAll("local/subject", "local/child"));
    await home.publish("local/child", child);
    const credential = await registerRoot(daemon, `ses_${round}`);
    let done = false;
    const judged = askSpawn(daemon, credential).finally(() => {
      done = true;
    });
    let meanwhile = 0;
    while (!done) {
      const { status } = await ask(daemon, "/health");
      expect(status).toBe(200);
      if (!done) meanwhile++;
    }
    const { status, body } = await judged;
    const told = status === 200 ? body.name : body.error;
    expect([what, told]).toEqual([
      what,
      expect.stringMatching(/^local\/child$|which its parent does not hold/),
    ]);
    expect(meanwhile).toBeGreaterThan(3);
    const headers = { "x-murmur-spawn-credential": credential };
    expect((await ask(daemon, "/deregister", { outcome: "complete" }, headers)).status).toBe(200);
  }
}, 60_000);
