import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { deepestChain, liveAtWorst } from "../../src/formation/figures.ts";
import { componentsOf, type Graph, graphOf, markClosedCycles, treeOf } from "../../src/formation/graph.ts";
import type { Edge } from "../../src/formation/schema.ts";
import type { Limits } from "../../src/referee/bounds.ts";
import { registryOf, spawns, testRegistry } from "./kit.ts";

/** Small graphs of which every capsule can be reached, as those of a formation. */
const graphs: fc.Arbitrary<Graph> = fc
  .integer({ min: 1, max: 6 })
  .chain((size) =>
    fc.array(fc.uniqueArray(fc.nat(size - 1), { maxLength: size }), { minLength: size, maxLength: size }),
  )
  .map((starts) => reachable(starts));

function reachable(starts: readonly (readonly number[])[]): Graph {
  const order = [0];
  for (const capsule of order) {
    for (const child of starts[capsule] ?? []) if (!order.includes(child)) order.push(child);
  }
  return {
    size: order.length,
    starts: order.map((capsule) => (starts[capsule] ?? []).map((child) => order.indexOf(child))),
  };
}

/** The same graph as a formation's edges. */
function marked({ starts }: Graph) {
  const capsules = starts.map((_, index) => ({ capsule: `local/c${index}@1` }));
  const edges = starts.flatMap((children, index) =>
    children.map(
      (child): Edge => ({
        parent: `local/c${index}@1`,
        name: `local/c${child}`,
        version: "1",
        verdict: "granted",
        sha256: "",
        closes_cycle: false,
      }),
    ),
  );
  const tree = treeOf(capsules, edges);
  markClosedCycles(tree);
  return { tree, edges, rest: graphOf(tree, (edge) => !edge.closes_cycle) };
}

const closes = (edge: Edge) => edge.verdict === "granted" && edge.closes_cycle;

/** The plain way: every path. */
function longest({ starts }: Graph, path: readonly number[] = [0]): number {
  const on = starts[path.at(-1) ?? 0] ?? [];
  const further = on.filter((child) => !path.includes(child));
  return Math.max(path.length, ...further.map((child) => longest({ size: 0, starts }, [...path, child])));
}

function leadsTo({ starts }: Graph, from: number, to: number): boolean {
  const seen = new Set([from]);
  for (const capsule of seen) for (const child of starts[capsule] ?? []) seen.add(child);
  return seen.has(to);
}

/** The plain way: every session starts as many as it may of the worst child, level by level. */
function worst(graph: Graph, { maxConcurrent, maxDepth }: Limits, capsule = 0): number {
  const children = graph.starts[capsule] ?? [];
  if (maxDepth === 0 || children.length === 0) return 1;
  const below = children.map((child) =>
    worst(graph, { ...NO_LIMITS, maxConcurrent, maxDepth: maxDepth - 1 }, child),
  );
  return 1 + maxConcurrent * Math.max(...below);
}

const NO_LIMITS: Limits = { maxDepth: 0, maxConcurrent: 0, maxLiveCapsules: 4294967295 };

describe("the figures of a formation, compared with the plain way to count", () => {
  test("agree on the sets of capsules that lead to one another", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { componentOf, fromTheBottom } = componentsOf(graph);
        expect([...fromTheBottom].sort()).toEqual(graph.starts.map((_, capsule) => capsule));
        for (let one = 0; one < graph.size; one++) {
          for (let other = 0; other < graph.size; other++) {
            const mutual = leadsTo(graph, one, other) && leadsTo(graph, other, one);
            expect(componentOf[one] === componentOf[other]).toBe(mutual);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("mark only edges on a cycle, and no cycle is left without them", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { edges, tree, rest } = marked(graph);
        for (const edge of edges.filter(closes)) {
          const [parent = 0, child = 0] = [tree.indexOf.get(edge.parent), tree.indexOf.get(`${edge.name}@1`)];
          expect(leadsTo(graph, child, parent)).toBe(true);
        }
        for (const [capsule, children] of rest.starts.entries()) {
          for (const child of children) expect(leadsTo(rest, child, capsule)).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("agree on the deepest chain", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { edges, rest } = marked(graph);
        const { capsules, exact } = deepestChain(graph, rest, edges.some(closes));
        expect(exact).toBe(true);
        expect(capsules).toHaveLength(longest(graph));
        expect(new Set(capsules).size).toBe(capsules.length);
        expect(capsules[0]).toBe(0);
        for (const [index, capsule] of capsules.entries()) {
          if (index > 0) expect(graph.starts[capsules[index - 1] ?? 0]).toContain(capsule);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("agree on how many capsules can live at most", () => {
    fc.assert(
      fc.property(
        graphs,
        fc.nat(6),
        fc.nat(3),
        fc.nat(40),
        (graph, maxDepth, maxConcurrent, maxLiveCapsules) => {
          const limits = { maxDepth, maxConcurrent, maxLiveCapsules };
          const { edges, rest } = marked(graph);
          const cyclic = edges.some(closes);
          const chain = deepestChain(graph, rest, cyclic).capsules.length;
          const found = liveAtWorst(graph, limits, chain, cyclic);
          const plain = worst(graph, limits);
          expect(found).toEqual({
            depthAndConcurrency: worst({ size: 1, starts: [[0]] }, limits),
            theseManifests: plain,
            withCeiling: Math.min(plain, Math.max(1, maxLiveCapsules)),
          });
        },
      ),
      { numRuns: 500 },
    );
  });

  test("end at the largest bound, for any bounds", () => {
    const most = 4294967295;
    const circle = { size: 1, starts: [[0]] };
    for (const maxConcurrent of [1, 2, most]) {
      const limits = { maxDepth: most, maxConcurrent, maxLiveCapsules: most };
      expect(liveAtWorst(circle, limits, 1, true)).toEqual({
        depthAndConcurrency: most,
        theseManifests: most,
        withCeiling: most,
      });
    }
  });

  test("report that a long search is given up, and fall back on the chain without cycles", () => {
    const knot = Array.from({ length: 20 }, (_, index) => index + 1);
    const chain = Array.from({ length: 40 }, (_, index) => index + 21);
    // The search goes into the knot first, and does not come out of it in time.
    const starts = [
      [1, 21],
      ...knot.map((capsule) => knot.filter((other) => other !== capsule)),
      ...chain.map((capsule) => (capsule < 60 ? [capsule + 1] : [])),
    ];
    const graph = reachable(starts);
    const { edges, rest } = marked(graph);
    const { capsules, exact } = deepestChain(graph, rest, edges.some(closes));
    expect(exact).toBe(false);
    expect(capsules).toHaveLength(41);
  });
});

describe("the summary", () => {
  test("counts pairs, and names the bound that refuses every child of the root", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": spawns("local/a", "local/b", "local/c", "c"),
      "local/a@1.0.0": {},
      "local/a@1.1.0": {},
      "local/b@1.0.0": { env: { allow: ["HOME"] } },
    });
    registry.publishBytes("local/b@1.1.0", Buffer.from("no archive"));
    const inspect = (limits: Partial<Limits>) => registry.inspect("local/root@1.0.0", { limits });
    expect((await inspect({})).summary).toMatchObject({
      granted: 2,
      refused: 1,
      unresolved: 1,
      absent: 2,
      refused_by_bound: null,
      deepest_chain: { capsules: ["local/root@1.0.0", "local/a@1.0.0"], exact: true },
    });
    const bounds = [{ maxDepth: 0 }, { maxConcurrent: 0 }, { maxLiveCapsules: 1 }];
    const said = await Promise.all(
      bounds.map(async (limits) => (await inspect(limits)).summary.refused_by_bound),
    );
    expect(said).toEqual(["depth", "concurrency", "machine-ceiling"]);
  });

  test("says that a chain may continue below the depth bound", async () => {
    using registry = testRegistry();
    const all = ["local/a", "local/b", "local/c"];
    await registry.publish("local/root@1.0.0", spawns("local/a", "local/b", "local/c"));
    await registry.publish("local/a@1.0.0", spawns("local/b", "local/c"));
    await registry.publish("local/b@1.0.0", spawns("local/c"));
    await registry.publish("local/c@1.0.0");
    const chainAt = async (maxDepth: number) =>
      (await registry.inspect("local/root@1.0.0", { limits: { maxDepth } })).summary.deepest_chain;
    expect(await chainAt(1)).toEqual({ capsules: ["local/root@1.0.0", "local/a@1.0.0"], exact: false });
    const whole = ["local/root", ...all].map((name) => `${name}@1.0.0`);
    expect(await chainAt(2)).toEqual({ capsules: whole, exact: true });
  });
});
