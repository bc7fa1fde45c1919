/** The capsules of a formation as a graph: which can start which, what is printed where, and which edges close cycles. */

import { type Capsule, childOf, type Edge, type GrantedEdge } from "./schema.ts";

/** Capsules by their index in `Formation.capsules`. */
export interface Graph {
  readonly size: number;
  /** The capsules that each capsule can start. */
  readonly starts: readonly (readonly number[])[];
}

/** The tree that is printed. A capsule's children are printed once, below the first edge on a shortest path to it. */
export interface Tree {
  readonly indexOf: ReadonlyMap<string, number>;
  readonly edgesOf: readonly (readonly Edge[])[];
  /** The edge below which each capsule's children are printed; none for the root. */
  readonly placeOf: readonly (Edge | undefined)[];
}

/** @param edges grouped by parent in the order of `capsules`, as in a formation */
export function treeOf(capsules: readonly Pick<Capsule, "capsule">[], edges: readonly Edge[]): Tree {
  const indexOf = new Map(capsules.map(({ capsule }, index) => [capsule, index]));
  const edgesOf: Edge[][] = capsules.map(() => []);
  const placeOf: (Edge | undefined)[] = capsules.map(() => undefined);
  for (const edge of edges) {
    const parent = indexOf.get(edge.parent);
    if (parent !== undefined) edgesOf[parent]?.push(edge);
    const child = startedBy(edge, indexOf);
    if (child) placeOf[child] ??= edge;
  }
  return { indexOf, edgesOf, placeOf };
}

/** The capsule that an edge lets its parent start. */
export function startedBy(edge: Edge, indexOf: ReadonlyMap<string, number>): number | undefined {
  return edge.verdict === "granted" ? indexOf.get(childOf(edge)) : undefined;
}

/** The graph of the granted edges for which `isTaken` is true. */
export function graphOf(
  { indexOf, edgesOf }: Tree,
  isTaken: (edge: GrantedEdge) => boolean = () => true,
): Graph {
  const starts = edgesOf.map((edges) =>
    edges
      .filter((edge) => edge.verdict === "granted" && isTaken(edge))
      .map((edge) => startedBy(edge, indexOf))
      .filter((child) => child !== undefined),
  );
  return { size: starts.length, starts };
}

/**
 * Marks the edges that close a cycle: the child is printed at its parent's place or above it, and can reach the parent.
 * Every cycle has such an edge, so the other edges form a graph without cycles.
 */
export function markClosedCycles(tree: Tree): void {
  const { componentOf } = componentsOf(graphOf(tree));
  const rowOf = rowsOf(tree);
  for (const [parent, edges] of tree.edgesOf.entries()) {
    for (const edge of edges) {
      const child = startedBy(edge, tree.indexOf);
      if (edge.verdict !== "granted" || child === undefined) continue;
      const isAtOrAbove = (rowOf[child] ?? 0) <= (rowOf[parent] ?? 0);
      edge.closes_cycle = isAtOrAbove && componentOf[parent] === componentOf[child];
    }
  }
}

/** The capsules' places, counted from top to bottom. */
function rowsOf({ indexOf, edgesOf, placeOf }: Tree): number[] {
  const rowOf: number[] = edgesOf.map(() => 0);
  const stack = [0];
  for (let row = 0; ; row++) {
    const capsule = stack.pop();
    if (capsule === undefined) return rowOf;
    rowOf[capsule] = row;
    for (const edge of [...(edgesOf[capsule] ?? [])].reverse()) {
      const child = startedBy(edge, indexOf);
      if (child !== undefined && placeOf[child] === edge) stack.push(child);
    }
  }
}

/** Sets of capsules that can all start one another, directly or through others of the set. */
interface Components {
  /** A number for each capsule, equal for all capsules of a set. */
  readonly componentOf: readonly number[];
  /** All capsules, each after those of other sets that it can start. */
  readonly fromTheBottom: readonly number[];
}

/** Tarjan's algorithm, without recursion, because a chain may be longer than the call stack. */
export function componentsOf({ size, starts }: Graph): Components {
  const found: number[] = new Array(size).fill(-1);
  const lowest: number[] = new Array(size).fill(-1);
  const componentOf: number[] = new Array(size).fill(-1);
  const fromTheBottom: number[] = [];
  const open: number[] = [];
  let count = 0;
  const at = (list: readonly number[], index: number) => list[index] ?? -1;
  for (let root = 0; root < size; root++) {
    if (at(found, root) >= 0) continue;
    const path: { readonly capsule: number; next: number }[] = [];
    const enter = (capsule: number) => {
      found[capsule] = lowest[capsule] = count++;
      open.push(capsule);
      path.push({ capsule, next: 0 });
    };
    enter(root);
    for (let step = path.at(-1); step; step = path.at(-1)) {
      const { capsule } = step;
      const child = starts[capsule]?.[step.next++];
      if (child !== undefined) {
        if (at(found, child) < 0) enter(child);
        else if (at(componentOf, child) < 0)
          lowest[capsule] = Math.min(at(lowest, capsule), at(found, child));
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above) lowest[above.capsule] = Math.min(at(lowest, above.capsule), at(lowest, capsule));
      if (at(lowest, capsule) !== at(found, capsule)) continue;
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        componentOf[member] = capsule;
        fromTheBottom.push(member);
        if (member === capsule) break;
      }
    }
  }
  return { componentOf, fromTheBottom };
}
