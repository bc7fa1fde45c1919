/** The deepest chain of distinct capsules. */

import { componentsOf, type Graph } from "./graph.ts";

/** A chain from the root down, with no capsule twice. `exact`: it is certain that no chain is longer. */
export interface Chain {
  readonly capsules: readonly number[];
  readonly exact: boolean;
}

/** With cycles, no fast way to find the longest chain is known. After this many steps the best one so far is taken. */
const MAX_STEPS = 200_000;

/**
 * @param rest the graph without the edges that close a cycle
 */
export function deepestChain(graph: Graph, rest: Graph, cyclic: boolean): Chain {
  const straight = longestPath(rest);
  if (!cyclic) return { capsules: straight, exact: true };
  const searched = searchLongest(graph);
  const capsules = searched.capsules.length > straight.length ? searched.capsules : straight;
  return { capsules, exact: searched.exact || capsules.length === graph.size };
}

/** The longest path from the root of a graph without cycles. */
function longestPath(graph: Graph): number[] {
  const lengths: number[] = new Array(graph.size).fill(1);
  const next: (number | undefined)[] = new Array(graph.size).fill(undefined);
  for (const capsule of componentsOf(graph).fromTheBottom) {
    for (const child of graph.starts[capsule] ?? []) {
      const length = (lengths[child] ?? 0) + 1;
      if (length > (lengths[capsule] ?? 0)) {
        lengths[capsule] = length;
        next[capsule] = child;
      }
    }
  }
  const path: number[] = [];
  for (let at: number | undefined = 0; at !== undefined; at = next[at]) path.push(at);
  return path;
}

/** Tries every path that has no capsule twice, up to `MAX_STEPS` steps. */
function searchLongest({ starts }: Graph): Chain {
  const path = [{ capsule: 0, next: 0 }];
  const onPath = new Set([0]);
  let longest = [0];
  /** Called only where a path cannot go on, which is cheaper than at every step. */
  const note = () => {
    if (path.length > longest.length) longest = path.map(({ capsule }) => capsule);
  };
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const step = path.at(-1);
    if (!step) return { capsules: longest, exact: true };
    const child = starts[step.capsule]?.[step.next++];
    if (child === undefined) {
      note();
      path.pop();
      onPath.delete(step.capsule);
      continue;
    }
    if (onPath.has(child)) continue;
    path.push({ capsule: child, next: 0 });
    onPath.add(child);
  }
  note();
  return { capsules: longest, exact: false };
}
