import { AXES, type Axis } from "../../referee/axes.ts";

const KINDS = new Map(AXES.map(({ key, kind }) => [key, kind]));

/** How an axis is written in a manifest; a key that is not an axis is written as a list. */
export function kindOf(key: string): Axis["kind"] {
  return KINDS.get(key) ?? "list";
}
