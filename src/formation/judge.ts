/** One pair of parent and child, on every axis and every entry: what the daemon says of the first, it would say of each. */

import { AXES, type Axis, offending, refusal } from "../referee/axes.ts";
import type { Envelope } from "../referee/envelope.ts";

/** An axis on which the child exceeds its parent. */
export interface Exceeded {
  readonly axis: Axis;
  /** At least one, in the child's order, each once. */
  readonly entries: readonly string[];
  /** The daemon's sentence for the first of them. */
  readonly error: string;
}

/** Every axis on which the child exceeds its parent, in the order the daemon asks; empty where it would be granted. */
export function exceeded(parent: Envelope, child: Envelope): readonly Exceeded[] {
  return AXES.flatMap((axis) => {
    const entries = [...new Set(offending(axis, parent, child))];
    const [first] = entries;
    return first === undefined ? [] : [{ axis, entries, error: refusal(axis, first, parent) }];
  });
}

/** One axis, and what each side says on it. */
export interface AxisComparison {
  readonly key: string;
  readonly kind: Axis["kind"];
  readonly parent: readonly string[];
  readonly child: readonly string[];
  /** Those of the child's that its parent does not cover. */
  readonly offending: readonly string[];
}

/** All twelve axes, in the order the daemon asks. */
export function compareAxes(parent: Envelope, child: Envelope): readonly AxisComparison[] {
  return AXES.map((axis) => ({
    key: axis.key,
    kind: axis.kind,
    parent: axis.declares(parent),
    child: axis.declares(child),
    offending: [...offending(axis, parent, child)],
  }));
}
