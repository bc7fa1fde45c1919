/** Verdicts that were reached before: neither envelope ever changes, so each pair of them is compared once. */

import { type Excess, excesses } from "./axes.ts";
import type { Envelope } from "./envelope.ts";

/** By parent, then by child; forgotten with either. */
const verdicts = new WeakMap<Envelope, WeakMap<Envelope, readonly Excess[]>>();

/** The same as `excesses`, compared at the first asking only. */
export function knownExcesses(parent: Envelope, child: Envelope): readonly Excess[] {
  let ofParent = verdicts.get(parent);
  if (!ofParent) {
    ofParent = new WeakMap();
    verdicts.set(parent, ofParent);
  }
  let verdict = ofParent.get(child);
  if (!verdict) {
    verdict = excesses(parent, child);
    ofParent.set(child, verdict);
  }
  return verdict;
}
