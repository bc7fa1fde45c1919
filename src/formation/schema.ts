/** The shape of a formation as JSON. The types, the published schema and the check of an earlier file come from it. */

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { AXES } from "../referee/axes.ts";

/** Changes whenever the shape changes so that older files can no longer be read. */
export const FORMATION_FORMAT = "mur-roost/formation/1";

const Coordinate = Type.String({ description: "A capsule: `<scope>/<name>@<version>`" });
const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$", description: "Hash of the artifact's bytes" });
const Count = (description: string) => Type.Integer({ minimum: 0, description });
const closed = { additionalProperties: false };

const AxisKey = Type.Union(
  AXES.map(({ key }) => Type.Literal(key)),
  { description: "The manifest key of an axis of the spawn envelope" },
);

const ExceededAxis = Type.Object(
  {
    key: AxisKey,
    entries: Type.Array(Type.String(), {
      minItems: 1,
      description:
        "Every declaration of the child that its parent does not cover; an empty text means no scope",
    }),
    error: Type.String({ description: "What the daemon would answer if this axis were the first" }),
  },
  closed,
);

const edge = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(
    {
      parent: Coordinate,
      name: Type.String({ description: "The entry of the parent's capabilities.spawn.allow" }),
      ...properties,
    },
    closed,
  );

const version = Type.String({ description: "A version of that name in the registry" });

const Granted = edge({
  version,
  verdict: Type.Literal("granted"),
  sha256: Sha256,
  closes_cycle: Type.Boolean({ description: "The child is at this place of the tree or above it" }),
});
const Refused = edge({
  version,
  verdict: Type.Literal("refused"),
  sha256: Sha256,
  error: Type.String({ description: "What the daemon answers: the first entry of the first axis" }),
  axes: Type.Array(ExceededAxis, { minItems: 1 }),
});
const Unresolved = edge({
  version: Type.Union([version, Type.Null()], { description: "null: the versions cannot be listed" }),
  verdict: Type.Literal("unresolved"),
  error: Type.String({ description: "What the daemon answers: the registry's sentence" }),
});
const Absent = edge({
  version: Type.Null(),
  verdict: Type.Union([Type.Literal("not-in-registry"), Type.Literal("not-a-full-name")]),
});

const Edge = Type.Union([Granted, Refused, Unresolved, Absent]);

const Capsule = Type.Object(
  {
    capsule: Coordinate,
    sha256: Sha256,
    depth: Count("Levels below the root, by the shortest way"),
    names: Count("Distinct names in its capabilities.spawn.allow"),
    cut: Type.Boolean({ description: "It lists capsules, and the depth bound leaves it none to start" }),
  },
  { ...closed, description: "A capsule that can run in this formation" },
);

const Edit = Type.Object(
  {
    effect: Type.Union([Type.Literal("narrows"), Type.Literal("widens"), Type.Literal("publishes")]),
    capsule: Type.String({ description: "Whose manifest, or what to publish" }),
    file: Type.Union([Type.Literal("murmur.yaml"), Type.Null()]),
    key: Type.Union([Type.String(), Type.Null()], { description: "The manifest key to edit" }),
    action: Type.Union([
      Type.Literal("drop"),
      Type.Literal("list"),
      Type.Literal("set"),
      Type.Literal("cover"),
      Type.Literal("unset"),
      Type.Literal("publish"),
      Type.Literal("publish-any"),
      Type.Literal("withdraw"),
    ]),
    values: Type.Array(Type.String(), {
      description: "To drop or to list, the value to set, or a scope to cover; none for the other actions",
    }),
  },
  closed,
);

const Change = Type.Object(
  {
    parent: Coordinate,
    child: Type.String({ description: "The child's coordinate, or its name where it has no version" }),
    key: AxisKey,
    edits: Type.Array(Edit, { minItems: 1, description: "Each mends it alone; what narrows comes first" }),
  },
  closed,
);

const Summary = Type.Object(
  {
    granted: Count("Pairs of parent and child that the daemon would grant"),
    refused: Count("Pairs that the envelope refuses"),
    unresolved: Count("Pairs whose child the registry does not resolve"),
    absent: Count("Listed names of which the registry holds no version, or that no request can name"),
    refused_by_bound: Type.Union(
      [Type.Literal("depth"), Type.Literal("machine-ceiling"), Type.Literal("concurrency"), Type.Null()],
      { description: "The bound that refuses every child of the root, whatever the manifests declare" },
    ),
    deepest_chain: Type.Object(
      {
        capsules: Type.Array(Coordinate, {
          minItems: 1,
          description: "From the root down, no capsule twice",
        }),
        exact: Type.Boolean({ description: "false: there may be a longer one" }),
      },
      closed,
    ),
    live_at_worst: Type.Object(
      {
        depth_and_concurrency: Count("One root and what is below it, as these two bounds allow"),
        these_manifests: Count("The same, where each capsule starts only what its manifest lets it start"),
        with_ceiling: Count("The same under the machine ceiling, where nothing else is alive on the host"),
      },
      { ...closed, description: "Each figure ends at 4294967295" },
    ),
  },
  closed,
);

/** A whole formation, as `--format json` prints it. */
export const Formation = Type.Object(
  {
    format: Type.Literal(FORMATION_FORMAT),
    root: Coordinate,
    platform: Type.String({ description: "`linux-x86_64`, …: whose artifacts were preferred" }),
    limits: Type.Object(
      {
        max_depth: Count("--max-depth"),
        max_concurrent: Count("--max-concurrent"),
        max_live_capsules: Count("--max-live-capsules"),
      },
      closed,
    ),
    capsules: Type.Array(Capsule, { minItems: 1, description: "By depth, the root first" }),
    edges: Type.Array(Edge, {
      description: "By parent in the order of `capsules`, then as its manifest lists",
    }),
    summary: Summary,
    changes: Type.Array(Change, { description: "What would mend each edge that cannot be granted" }),
  },
  closed,
);

/** A whole formation as plain JSON: what `--format json` prints, and what `docs/formation.schema.json` describes. */
export type Formation = Static<typeof Formation>;
/** One listed name in one version (none if no version exists), and what the daemon says about parent and child. */
export type Edge = Static<typeof Edge>;
/** The daemon would grant it, as far as the two artifacts decide. */
export type GrantedEdge = Static<typeof Granted>;
/** The envelope refuses it, on at least one axis. */
type RefusedEdge = Static<typeof Refused>;
/** The child is absent, or the registry cannot resolve it. */
export type UnresolvedEdge = Exclude<Edge, GrantedEdge | RefusedEdge>;
/** A capsule that can run in the formation. */
export type Capsule = Static<typeof Capsule>;
/** One edit of a manifest, or of the registry. */
export type Edit = Static<typeof Edit>;
/** Edits that would fix one axis of one edge. Each is enough alone; narrowing ones come first. */
export type Change = Static<typeof Change>;
/** The figures of a formation. */
export type Summary = Static<typeof Summary>;
/** An axis on which a child exceeds its parent, with every entry that does. */
export type ExceededAxis = Static<typeof ExceededAxis>;

/** `local/worker@1.0.0`, or the listed name alone if there is no version. */
export function childOf({ name, version }: Edge): string {
  return version === null ? name : `${name}@${version}`;
}
