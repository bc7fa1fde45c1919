import { expect, setDefaultTimeout, test } from "bun:test";
import { createHost } from "../kit/host.ts";
import { envelopeVectors, vectorManifest } from "../kit/vectors.ts";

// The daemon starts slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

test("the envelope's vectors hold over the wire, byte for byte", async () => {
  await using other = createHost();
  const names = envelopeVectors.map((_, index) => `local/parent-${index}`);
  const { caller: vectors } = await other.start([
    "--max-live-capsules",
    "100000",
    ...names.flatMap((name) => ["--spawn-allow", name]),
  ]);
  for (const [index, vector] of envelopeVectors.entries()) {
    await other.publishManifest(`local/parent-${index}`, vectorManifest(vector, "parent"));
    await other.publishManifest("local/worker", vectorManifest(vector, "child"));
    const credential = await vectors.credential(`ses_${index}`, `local/parent-${index}`);
    const answer = await vectors.spawn(credential, "local/worker");
    if (vector.unreadable) expect([vector.id, answer.status]).toEqual([vector.id, 500]);
    else if (vector.refused) expect(answer.text).toBe(JSON.stringify({ error: vector.refused.error }));
    else expect([vector.id, answer.status]).toEqual([vector.id, 200]);
  }
});
