/** The envelope's cases: pairs of manifest bodies, each with its verdict. */

import vectors from "../envelope-vectors.json" with { type: "json" };

export interface EnvelopeVector {
  readonly id: string;
  readonly why?: string;
  readonly parent: string;
  readonly child: string;
  /** `null`: granted. */
  readonly refused: { readonly key: string; readonly error: string } | null;
  readonly unreadable?: string;
}

export const envelopeVectors = vectors.vectors as readonly EnvelopeVector[];

/** The whole `murmur.yaml` of one side. The parent is local/parent, the child local/worker, both at 0.1.0. */
export function vectorManifest(vector: EnvelopeVector, side: "parent" | "child"): string {
  const body = vector[side];
  // A body that is one JSON document is the whole manifest.
  if (body.startsWith("{")) return body;
  return `name: ${side === "parent" ? "parent" : "worker"}\nversion: 0.1.0\n${body}`;
}
