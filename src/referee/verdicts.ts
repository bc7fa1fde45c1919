/** Verdicts that were reached before: neither envelope ever changes, so each pair of them is compared once. */

import { inSlices } from "../slices.ts";
import { type Excess, excesses } from "./axes.ts";
import type { Envelope } from "./envelope.ts";

type Verdict = readonly Excess[];

/** By parent, then by child; forgotten with either. A promise is a comparison that is still going on. */
const verdicts = new WeakMap<Envelope, WeakMap<Envelope, Verdict | Promise<Verdict>>>();

/**
 * The same as `excesses`, compared at the first asking only, and in slices.
 *
 * @returns a promise only where the two take longer to compare than one slice, and have not been compared before
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
