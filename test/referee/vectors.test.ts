import { describe, expect, test } from "bun:test";
import { excesses } from "../../src/referee/axes.ts";
import { lowerManifest } from "../../src/referee/envelope.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { atOnce } from "../../src/slices.ts";
import { type EnvelopeVector, envelopeVectors, vectorManifest } from "../kit/vectors.ts";

function verdict(vector: EnvelopeVector): { unreadable: true } | { refused: unknown } {
  const parent = readManifest(vectorManifest(vector, "parent"));
  const child = readManifest(vectorManifest(vector, "child"));
  if (!parent.ok) throw new Error(`the parent does not read: ${parent.fault}`);
  if (!child.ok) return { unreadable: true };
  const holds = atOnce(lowerManifest(parent.manifest));
  const [first] = atOnce(excesses(holds, atOnce(lowerManifest(child.manifest))));
  return { refused: first ? { key: first.key, error: first.error } : null };
}

describe("the envelope's vectors", () => {
  test.each(envelopeVectors.map((vector) => [vector.id, vector] as const))("hold: %s", (_, vector) => {
    expect(verdict(vector)).toEqual(
      vector.unreadable === undefined ? { refused: vector.refused ?? null } : { unreadable: true },
    );
  });
});
