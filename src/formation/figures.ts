/** A formation in figures: how many pairs can be granted, how deep it goes, and how large it can grow. */

import { boundReached, type Limits } from "../referee/bounds.ts";
import { componentsOf, type Graph, graphOf, type Tree } from "./graph.ts";
import type { Capsule, Edge, Formation, Summary } from "./schema.ts";
import type { Paint } from "./words.ts";

export function summarise(
  capsules: readonly Capsule[],
  edges: readonly Edge[],
  tree: Tree,
  limits: Limits,
): Summary {
  const graph = graphOf(tree);
  const rest = graphOf(tree, (edge) => !edge.closes_cycle);
  const cyclic = edges.some((edge) => edge.verdict === "granted" && edge.closes_cycle);
  const chain = deepestChain(graph, rest, cyclic);
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

/** Whether everything that is listed down to the depth bound can be granted: no pair is refused, and nothing is missing. */
export function isWhollyGranted({ summary }: Formation): boolean {
  return notGranted(summary) === 0 && summary.refused_by_bound === null;
}

function notGranted({ refused, unresolved, absent }: Summary): number {
  return refused + unresolved + absent;
}

/** A chain from the root down, with no capsule twice. `exact`: it is certain that no chain is longer. */
interface Chain {
  readonly capsules: readonly number[];
  readonly exact: boolean;
}

/** With cycles, no fast way to find the longest chain is known. After this many steps the best one so far is taken. */
const MAX_STEPS = 200_000;

/**
 * The deepest chain of distinct capsules.
 *
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

/** The largest value that a bound can have. Larger figures are cut to it. */
const MOST = 4294967295;

/**
 * How many capsules one root and everything below it can keep alive at most, so that an operator can size the bounds: by
 * depth and concurrency alone; if each capsule starts only what its manifest allows, too; and under the machine ceiling,
 * which never refuses a root.
 *
 * @param longest capsules in the longest chain
 * @param cyclic whether only the depth bound ends some chain
 */
export function liveAtWorst(graph: Graph, limits: Limits, longest: number, cyclic: boolean) {
  const { maxDepth, maxConcurrent, maxLiveCapsules } = limits;
  const theseManifests =
    maxConcurrent === 1 ? Math.min(maxDepth + 1, cyclic ? MOST : longest) : largestTree(graph, limits);
  return {
    depthAndConcurrency: fullTree(limits),
    theseManifests,
    withCeiling: Math.min(theseManifests, Math.max(1, maxLiveCapsules)),
  };
}

/** Every session holds as many children as it may, on every level. */
function fullTree({ maxDepth, maxConcurrent }: Limits): number {
  if (maxConcurrent <= 1) return maxConcurrent === 0 ? 1 : Math.min(MOST, maxDepth + 1);
  let live = 1;
  for (let level = 0; level < maxDepth && live < MOST; level++) live = 1 + maxConcurrent * live;
  return Math.min(MOST, live);
}

/**
 * Each session holds as many as it may of the child with the most capsules below it. With two or more children the
 * figure at least doubles with each level of a chain, so the loop soon reaches `MOST` or the chain's end.
 */
function largestTree({ size, starts }: Graph, { maxDepth, maxConcurrent }: Limits): number {
  let live: readonly number[] = new Array(size).fill(1);
  for (let level = 0; level < maxDepth; level++) {
    const below = live;
    live = starts.map((children) => {
      const most = children.reduce((largest, child) => Math.max(largest, below[child] ?? 0), 0);
      return Math.min(MOST, 1 + maxConcurrent * most);
    });
    const [root = 1] = live;
    if (root === MOST || live.every((figure, capsule) => figure === below[capsule])) return root;
  }
  return live[0] ?? 1;
}

/** The lines below the tree. */
export function* figureLines(formation: Formation, paint: Paint): Generator<string, void> {
  const { capsules, limits, summary } = formation;
  yield paint(pairsText(summary));
  const bound = boundText(formation);
  if (bound !== undefined) yield paint(bound, "refused");
  yield* chainLines(formation, paint);
  const listing = capsules.filter(({ names }) => names > 0);
  if (listing.length > 0) {
    yield paint(`Distinct names that a capsule lists; --max-concurrent is ${limits.max_concurrent}:`);
    const tooMany = (names: number) => (names > limits.max_concurrent ? "  (not all at once)" : "");
    yield* column(
      listing.map(({ names, capsule }) => [names, `${capsule}${tooMany(names)}`]),
      paint,
    );
  }
  yield paint("Live capsules at the worst, this root among them:");
  const { depth_and_concurrency, these_manifests, with_ceiling } = summary.live_at_worst;
  const bounds = `by --max-depth ${limits.max_depth} and --max-concurrent ${limits.max_concurrent}`;
  const rows: Row[] = [
    [depth_and_concurrency, bounds],
    [these_manifests, "by what these manifests let each other start, too"],
    [with_ceiling, `by --max-live-capsules ${limits.max_live_capsules}, too`],
  ];
  yield* column(rows, paint);
}

type Row = readonly [figure: number, what: string];

function* column(rows: readonly Row[], paint: Paint): Generator<string, void> {
  const width = rows.reduce((widest, [figure]) => Math.max(widest, String(figure).length), 0);
  for (const [figure, what] of rows) yield paint(`  ${String(figure).padStart(width)}  ${what}`);
}

function pairsText(summary: Summary): string {
  const { granted, refused, unresolved, absent } = summary;
  const not = notGranted(summary);
  const total = granted + not === 1 ? "1 pair" : `${granted + not} pairs`;
  if (not === 0) return `${total}: ${granted} can be granted, none cannot.`;
  const why = [
    refused > 0 && `${refused} refused`,
    unresolved > 0 && `${unresolved} cannot be resolved`,
    absent > 0 && `${absent} not in the registry`,
  ].filter((part) => part !== false);
  return `${total}: ${granted} can be granted, ${not} cannot (${why.join(", ")}).`;
}

/** The sentence about the bound that refuses everything, if one does. */
function boundText({ summary, limits }: Formation): string | undefined {
  switch (summary.refused_by_bound) {
    case null:
      return undefined;
    case "depth":
      return `Nothing is granted under --max-depth ${limits.max_depth}.`;
    case "machine-ceiling":
      return `Nothing is granted under --max-live-capsules ${limits.max_live_capsules}: the root alone takes it up.`;
    case "concurrency":
      return `Nothing is granted under --max-concurrent ${limits.max_concurrent}.`;
    default:
      return summary.refused_by_bound satisfies never;
  }
}

function* chainLines({ summary, limits, capsules }: Formation, paint: Paint): Generator<string, void> {
  const { capsules: chain, exact } = summary.deepest_chain;
  const levels = chain.length - 1;
  const length = `${exact ? "" : "at least "}${levels === 1 ? "1 level" : `${levels} levels`}`;
  const { max_depth } = limits;
  const bound = levels > max_depth ? `--max-depth ${max_depth} cuts it short` : `--max-depth is ${max_depth}`;
  yield paint(`Deepest chain of distinct capsules: ${length}; ${bound}.`);
  if (levels > 0) yield `  ${paint(chain.join(" > "), "faint")}`;
  const cut = capsules.filter((capsule) => capsule.cut).length;
  if (cut > 0) {
    const who = cut === 1 ? "1 capsule lists others and has" : `${cut} capsules list others and have`;
    yield paint(`  ${who} no level left to start them.`);
  }
}
