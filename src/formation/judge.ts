/** Judges pairs of parent and child on every axis and every entry. The daemon needs only the first offending one of an axis. */

import { AXES, type Axis, refusal } from "../referee/axes.ts";
import type { Envelope } from "../referee/envelope.ts";

/** An axis on which the child exceeds its parent. */
export interface Exceeded {
  readonly axis: Axis;
  /** At least one, in the child's order. All pairs that declare the same share them. */
  readonly entries: string[];
  /** Whether the child's own declarations cover them. If not, they are malformed, and no parent can cover them. */
  readonly isSound: boolean;
  /** The daemon's sentence for the first of them. */
  readonly error: string;
}

/**
 * Judges many pairs. Many capsules declare the same on an axis, and the verdict on it depends only on what the two
 * declare, so equal declarations are compared only once.
 */
export class Judge {
  readonly #axes = AXES.map((axis) => new AxisJudge(axis));

  /** Every axis on which the child exceeds its parent, in the order the daemon checks; empty if it would be granted. */
  exceeded(parent: Envelope, child: Envelope): readonly Exceeded[] {
    return this.#axes.map((axis) => axis.exceeded(parent, child)).filter((found) => found !== undefined);
  }
}

class AxisJudge {
  readonly #axis: Axis;
  /** The first capsule seen with given declarations, by their text. It represents all others with the same. */
  readonly #first = new Map<string, Envelope>();
  readonly #standsFor = new Map<Envelope, Envelope>();
  readonly #found = new Map<Envelope, Map<Envelope, Exceeded | undefined>>();

  constructor(axis: Axis) {
    this.#axis = axis;
  }

  exceeded(parent: Envelope, child: Envelope): Exceeded | undefined {
    const [outer, inner] = [this.#standIn(parent), this.#standIn(child)];
    let ofParent = this.#found.get(outer);
    if (!ofParent) {
      ofParent = new Map();
      this.#found.set(outer, ofParent);
    }
    if (!ofParent.has(inner)) ofParent.set(inner, compare(this.#axis, outer, inner));
    return ofParent.get(inner);
  }

  #standIn(held: Envelope): Envelope {
    let first = this.#standsFor.get(held);
    if (first) return first;
    const text = JSON.stringify(this.#axis.declares(held));
    first = this.#first.get(text) ?? held;
    this.#first.set(text, first);
    this.#standsFor.set(held, first);
    return first;
  }
}

function compare(axis: Axis, parent: Envelope, child: Envelope): Exceeded | undefined {
  const entries = axis.declares(child).filter((entry) => !axis.covers(parent, entry));
  const [first] = entries;
  if (first === undefined) return undefined;
  const isSound = entries.every((entry) => axis.covers(child, entry));
  return { axis, entries, isSound, error: refusal(axis, first, parent) };
}
