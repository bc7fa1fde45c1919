/** The figures below the tree. */

import type { Formation } from "../schema.ts";
import { counted, type Paint } from "./paint.ts";

export function* summaryLines(formation: Formation, paint: Paint): Generator<string, void> {
  yield paint(undefined, pairsText(formation));
  const bound = boundText(formation);
  if (bound !== undefined) yield paint("refused", bound);
  yield* chainLines(formation, paint);
  yield* namesLines(formation, paint);
  yield* worstLines(formation, paint);
}

function pairsText({ summary }: Formation): string {
  const { granted, refused, unresolved, absent } = summary;
  const not = refused + unresolved + absent;
  const total = counted(granted + not, "pair");
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
  const bound =
    levels > limits.max_depth
      ? `--max-depth ${limits.max_depth} cuts it short`
      : `--max-depth is ${limits.max_depth}`;
  yield paint(
    undefined,
    `Deepest chain of distinct capsules: ${exact ? "" : "at least "}${counted(levels, "level")}; ${bound}.`,
  );
  if (levels > 0) yield `  ${paint("faint", chain.join(" > "))}`;
  const cut = capsules.filter((capsule) => capsule.cut).length;
  if (cut > 0) {
    const who = cut === 1 ? "1 capsule lists others and has" : `${cut} capsules list others and have`;
    yield paint(undefined, `  ${who} no level left to start them.`);
  }
}

/** How many names a capsule lists, compared with how many children it may hold at once. */
function* namesLines({ capsules, limits }: Formation, paint: Paint): Generator<string, void> {
  const listing = capsules.filter(({ names }) => names > 0);
  if (listing.length === 0) return;
  yield paint(
    undefined,
    `Distinct names that a capsule lists; --max-concurrent is ${limits.max_concurrent}:`,
  );
  const width = listing.reduce((widest, { names }) => Math.max(widest, String(names).length), 0);
  for (const { capsule, names } of listing) {
    const more = names > limits.max_concurrent ? "  (not all at once)" : "";
    yield paint(undefined, `  ${String(names).padStart(width)}  ${capsule}${more}`);
  }
}

function* worstLines({ summary, limits }: Formation, paint: Paint): Generator<string, void> {
  const { depth_and_concurrency, these_manifests, with_ceiling } = summary.live_at_worst;
  yield paint(undefined, "Live capsules at the worst, this root among them:");
  const rows = [
    [
      depth_and_concurrency,
      `by --max-depth ${limits.max_depth} and --max-concurrent ${limits.max_concurrent}`,
    ],
    [these_manifests, "by what these manifests let each other start, too"],
    [with_ceiling, `by --max-live-capsules ${limits.max_live_capsules}, too`],
  ] as const;
  const width = Math.max(...rows.map(([figure]) => String(figure).length));
  for (const [figure, by] of rows) yield paint(undefined, `  ${String(figure).padStart(width)}  ${by}`);
}
