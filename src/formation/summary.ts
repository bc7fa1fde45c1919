/** A formation in figures: how many pairs can be granted, how deep it goes, and how large it can grow. */

import { boundReached, type Limits } from "../referee/bounds.ts";
import { deepestChain } from "./chain.ts";
import { graphOf, type Tree } from "./graph.ts";
import type { Capsule, Edge, Summary } from "./schema.ts";
import { liveAtWorst } from "./worst.ts";

export function summarise(
  capsules: readonly Capsule[],
  edges: readonly Edge[],
  tree: Tree,
  limits: Limits,
): Summary {
  const graph = graphOf(tree);
  const cyclic = edges.some((edge) => edge.verdict === "granted" && edge.closes_cycle);
  const chain = deepestChain(
    graph,
    graphOf(tree, (edge) => !edge.closes_cycle),
    cyclic,
  );
  const worst = liveAtWorst(graph, limits, chain.capsules.length, cyclic);
  const count = (...verdicts: Edge["verdict"][]) =>
    edges.filter(({ verdict }) => verdicts.includes(verdict)).length;
  return {
    granted: count("granted"),
    refused: count("refused"),
    unresolved: count("unresolved"),
    absent: count("not-in-registry", "not-a-full-name"),
    refused_by_bound: boundOfRoot(capsules, limits),
    deepest_chain: {
      capsules: chain.capsules.map((index) => capsules[index]?.capsule ?? ""),
      exact: chain.exact && !capsules.some(({ cut }) => cut),
    },
    live_at_worst: {
      depth_and_concurrency: worst.depthAndConcurrency,
      these_manifests: worst.theseManifests,
      with_ceiling: worst.withCeiling,
    },
  };
}

/** The bound that refuses the root's first child with nothing else live on the host, or `null`. */
function boundOfRoot([root]: readonly Capsule[], limits: Limits): Summary["refused_by_bound"] {
  if (!root || root.names === 0) return null;
  return boundReached(limits, { depthRemaining: limits.maxDepth, liveCapsules: 1, liveChildren: 0 }) ?? null;
}
