/** Remembers verdicts: envelopes never change, so each pair is compared once. */

import { inSlices } from "../slices.ts";
import { type Excess, excesses } from "./axes.ts";
import type { Envelope } from "./envelope.ts";

type Verdict = readonly Excess[];

/** By parent, then by child; dropped when either envelope is. A promise is a comparison still in progress. */
const verdicts = new WeakMap<Envelope, WeakMap<Envelope, Verdict | Promise<Verdict>>>();

/**
 * The same as `excesses`, but compared only once, and in slices.
 *
 * @returns a promise only if the pair is new and takes longer than one slice to compare
 */
export function knownExcesses(parent: Envelope, child: Envelope): Verdict | Promise<Verdict> {
  let ofParent = verdicts.get(parent);
  if (!ofParent) {
    ofParent = new WeakMap();
    verdicts.set(parent, ofParent);
  }
  const known = ofParent.get(child);
  if (known) return known;
  const verdict = inSlices(excesses(parent, child));
  ofParent.set(child, verdict);
  if (verdict instanceof Promise) keepResult(ofParent, child, verdict);
  return verdict;
}

async function keepResult(
  ofParent: WeakMap<Envelope, Verdict | Promise<Verdict>>,
  child: Envelope,
  verdict: Promise<Verdict>,
): Promise<void> {
  ofParent.set(child, await verdict);
}
