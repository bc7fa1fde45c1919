import { describe, test } from "bun:test";
import fc from "fast-check";
import { excesses } from "../../src/referee/axes.ts";
import { lowerManifest } from "../../src/referee/envelope.ts";
import { parseScope } from "../../src/referee/filesystem-scope.ts";
import { parseNetworkRule } from "../../src/referee/network-rule.ts";
import { CONTAINMENT_CLASSES } from "../../src/registry/containment.ts";
import type { Manifest } from "../../src/registry/manifest.ts";
import { atOnce } from "../../src/slices.ts";

const within = (parent: Manifest, child: Manifest) =>
  atOnce(excesses(atOnce(lowerManifest(parent)), atOnce(lowerManifest(child)))).length === 0;

// Few values, so that two manifests often meet on one.
const host = fc.constantFrom("a.example", "b.example", "A.EXAMPLE", "[::1]", "127.1", "127.0.0.1");
const port = fc.constantFrom("", ":80", ":443", ":8443");
const networkEntry = fc
  .tuple(fc.constantFrom("", "http://", "https://"), host, port, fc.constantFrom("", "/"))
  .map((parts) => parts.join(""));
const name = fc.constantFrom("a", "b", "c");
const pattern = fc.constantFrom("*", "s*", "st*", "s", "st", "stx", "t/*", "t/u");
const scope = fc.constantFrom(undefined, ".", "data", "data/in", "data/../data", "./data//in/", "other");
const list = (entry: fc.Arbitrary<string>) => fc.array(entry, { maxLength: 3 });

/** A manifest whose entries are all readable. */
const manifest: fc.Arbitrary<Manifest> = fc.record({
  name: fc.constant("x"),
  version: fc.constant("0.1.0"),
  networkAllow: list(networkEntry),
  unixSockets: fc.boolean(),
  peerFetchAllow: list(networkEntry),
  shellAllow: list(name),
  spawnAllow: list(name),
  envAllow: list(name),
  filesystemScope: scope,
  workdirExec: fc.boolean(),
  stateStores: list(name),
  installSkill: list(pattern),
  installTool: list(pattern),
  containment: fc.constantFrom(...CONTAINMENT_CLASSES),
});

/** One more grant on one axis. */
const grant: fc.Arbitrary<(to: Manifest) => Manifest> = fc.oneof(
  networkEntry.map((entry) => (to: Manifest) => ({ ...to, networkAllow: [...to.networkAllow, entry] })),
  networkEntry.map((entry) => (to: Manifest) => ({ ...to, peerFetchAllow: [...to.peerFetchAllow, entry] })),
  name.map((entry) => (to: Manifest) => ({ ...to, shellAllow: [...to.shellAllow, entry] })),
  name.map((entry) => (to: Manifest) => ({ ...to, spawnAllow: [...to.spawnAllow, entry] })),
  name.map((entry) => (to: Manifest) => ({ ...to, envAllow: [...to.envAllow, entry] })),
  name.map((entry) => (to: Manifest) => ({ ...to, stateStores: [...to.stateStores, entry] })),
  pattern.map((entry) => (to: Manifest) => ({ ...to, installSkill: [...to.installSkill, entry] })),
  pattern.map((entry) => (to: Manifest) => ({ ...to, installTool: [...to.installTool, entry] })),
  fc.constant((to: Manifest) => ({ ...to, unixSockets: true })),
  fc.constant((to: Manifest) => ({ ...to, workdirExec: true })),
  fc.constant((to: Manifest) => ({ ...to, filesystemScope: undefined })),
  // A floor is a requirement: lowering it is what grants.
  fc.constant((to: Manifest) => ({ ...to, containment: "advisory" as const })),
);

/** A child that its parent holds, more often than chance would make one. */
const narrowed = (from: Manifest): fc.Arbitrary<Manifest> =>
  fc.record({
    ...Object.fromEntries(Object.entries(from).map(([key, value]) => [key, fc.constant(value)])),
    networkAllow: fc.subarray([...from.networkAllow]),
    shellAllow: fc.subarray([...from.shellAllow]),
    installSkill: fc.subarray([...from.installSkill]),
    filesystemScope: fc.constantFrom(from.filesystemScope, "data/in"),
    unixSockets: fc.constantFrom(from.unixSockets, false),
    containment: fc.constantFrom(from.containment, "sealed" as const),
  }) as unknown as fc.Arbitrary<Manifest>;

const chain = manifest.chain((a) =>
  fc
    .tuple(fc.constant(a), fc.oneof(narrowed(a), manifest))
    .chain(([top, b]) => fc.tuple(fc.constant(top), fc.constant(b), fc.oneof(narrowed(b), manifest))),
);

describe("the referee's laws", () => {
  test("a capsule whose entries are all readable never exceeds itself", () => {
    fc.assert(
      fc.property(manifest, (held) => within(held, held)),
      { numRuns: 2000 },
    );
  });

  test("if A holds B and B holds C, then A holds C", () => {
    let chains = 0;
    fc.assert(
      fc.property(chain, ([a, b, c]) => {
        fc.pre(within(a, b) && within(b, c));
        chains++;
        return within(a, c);
      }),
      { numRuns: 1000, maxSkipsPerRun: 1000 },
    );
    if (chains < 1000) throw new Error(`only ${chains} chains were tried`);
  });

  test("adding a grant to a child never turns a refusal into a grant", () => {
    fc.assert(
      fc.property(manifest, manifest, grant, (parent, child, add) => {
        fc.pre(!within(parent, child));
        return !within(parent, add(child));
      }),
      { numRuns: 2000, maxSkipsPerRun: 1000 },
    );
  });

  test("adding a grant to a parent never turns a grant into a refusal", () => {
    fc.assert(
      fc.property(
        manifest.chain((parent) => fc.tuple(fc.constant(parent), narrowed(parent))),
        grant,
        ([parent, child], add) => {
          fc.pre(within(parent, child));
          return within(add(parent), child);
        },
      ),
      { numRuns: 2000, maxSkipsPerRun: 1000 },
    );
  });

  test("a network rule printed as text is read back as the same rule", () => {
    fc.assert(
      fc.property(networkEntry, (entry) => {
        const rule = parseNetworkRule(entry);
        if (!rule) return false;
        const again = `${rule.scheme ? `${rule.scheme}://` : ""}${rule.host}${rule.port === undefined ? "" : `:${rule.port}`}`;
        return JSON.stringify(parseNetworkRule(again)) === JSON.stringify(rule);
      }),
    );
  });

  test("a network entry is read only if, as a URL, it is a scheme, a host and a port, and nothing more", () => {
    const piece = fc.constantFrom(..."[]@/?#\\:.%*\n x1f", "xn--", "a.example", "127.1", "::1", "80");
    const pieces = fc.array(piece, { maxLength: 5 }).map((parts) => parts.join(""));
    const shape = fc.constantFrom<[string, string]>(
      ["", ""],
      ["[", "]"],
      ["x@", ""],
      ["[x@a", "]"],
      ["[::", "]"],
    );
    const entry = fc
      .tuple(
        fc.constantFrom("", "http://", "https://"),
        shape,
        pieces,
        fc.constantFrom("", ":80", ":443", "/"),
      )
      .map(([scheme, [before, after], inner, end]) => `${scheme}${before}${inner}${after}${end}`);
    let read = 0;
    fc.assert(
      fc.property(entry, (written) => {
        const rule = parseNetworkRule(written);
        fc.pre(rule !== undefined);
        read++;
        const text = written.trim();
        const url = new URL(text.includes("://") ? text : `http://${text}`);
        const { username, password, pathname, search, hash } = url;
        return url.hostname === rule?.host && [username, password, search, hash, pathname].join("") === "/";
      }),
      { numRuns: 1000, maxSkipsPerRun: 1000 },
    );
    if (read < 1000) throw new Error(`only ${read} entries were read`);
  });

  test("a scope's components are a scope of the same components", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", ".", "..", ""), { maxLength: 8 })
      .map((parts) => parts.join("/"));
    fc.assert(
      fc.property(text, (written) => {
        const components = parseScope(written);
        return (
          components === undefined || parseScope(components.join("/"))?.join("/") === components.join("/")
        );
      }),
      { numRuns: 2000 },
    );
  });
});
