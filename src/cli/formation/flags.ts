/** The arguments of `npm run formation`, read as strictly as the daemon's: from left to right, up to the first fault. */

import type { Limits } from "../../referee/bounds.ts";
import { PLATFORMS } from "../../registry/places.ts";
import {
  ArgumentFault,
  invalid,
  nonEmpty,
  splitArgument,
  takeValue,
  unknownArgument,
  wholeNumber,
} from "../arguments.ts";

const FORMATS = ["text", "json", "mermaid", "dot"] as const;
export type Format = (typeof FORMATS)[number];

/** What to do. Capsules are still plain text: the registry says what is wrong with one. */
type Task =
  | { readonly kind: "show"; readonly root: string; readonly format: Format }
  | { readonly kind: "expect"; readonly root: string; readonly file: string }
  | { readonly kind: "why"; readonly parent: string; readonly child: string };

export interface FormationFlags {
  readonly task: Task;
  readonly registryPath: string | undefined;
  readonly platform: string | undefined;
  /** Only those that were given. */
  readonly limits: Partial<Limits>;
}

export type FormationFlagsReading =
  | { readonly kind: "run"; readonly flags: FormationFlags }
  /** What is wrong, naming the argument. */
  | { readonly kind: "fault"; readonly fault: string };

const CAPSULE = "SCOPE/NAME@VERSION";

/** Each flag, and how its value is shown. */
const FLAGS = {
  "registry-path": { type: "string", valueHint: "DIR" },
  "max-depth": { type: "string", valueHint: "N" },
  "max-concurrent": { type: "string", valueHint: "N" },
  "max-live-capsules": { type: "string", valueHint: "N" },
  format: { type: "string", valueHint: FORMATS.join("|") },
  platform: { type: "string", valueHint: "NAME" },
  expect: { type: "string", valueHint: "FILE" },
  why: { type: "string", valueHint: "PARENT CHILD" },
} as const;

/** One line for each of the two questions, with every argument that it takes. */
export function formationUsage(): string {
  const all = Object.keys(FLAGS) as (keyof typeof FLAGS)[];
  const show = (name: keyof typeof FLAGS) => `--${name} ${FLAGS[name].valueHint}`;
  const optional = (names: typeof all) => names.map((name) => `[${show(name)}]`).join(" ");
  return [
    `usage: formation ${CAPSULE} ${optional(all.filter((name) => name !== "why"))}`,
    `       formation ${show("why")} ${optional(["registry-path", "platform"])}`,
  ].join("\n");
}

export function readFormationFlags(argv: readonly string[]): FormationFlagsReading {
  try {
    return { kind: "run", flags: scan(argv) };
  } catch (error) {
    if (error instanceof ArgumentFault) return { kind: "fault", fault: error.message };
    throw error;
  }
}

function scan(argv: readonly string[]): FormationFlags {
  const given: Given = { limits: {} };
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (!argument.startsWith("-")) {
      if (given.root !== undefined) throw unknownArgument(argument);
      given.root = argument;
      continue;
    }
    const { name, inline } = splitArgument(FLAGS, argument);
    take(given, name, takeValue(name, inline, rest), rest);
  }
  const { registryPath, platform, limits } = given;
  return { task: taskOf(given), registryPath, platform, limits };
}

/** What the arguments said so far. If one is given twice, the last one counts. */
interface Given {
  root?: string;
  format?: Format;
  expect?: string;
  why?: { readonly parent: string; readonly child: string };
  registryPath?: string;
  platform?: string;
  limits: { -readonly [Bound in keyof Limits]?: Limits[Bound] };
}

function take(given: Given, name: keyof typeof FLAGS, value: string, rest: string[]): void {
  switch (name) {
    case "registry-path":
      given.registryPath = nonEmpty(name, value);
      break;
    case "max-depth":
      given.limits.maxDepth = wholeNumber(name, value);
      break;
    case "max-concurrent":
      given.limits.maxConcurrent = wholeNumber(name, value);
      break;
    case "max-live-capsules":
      given.limits.maxLiveCapsules = wholeNumber(name, value);
      break;
    case "format":
      given.format = oneOf(name, value, FORMATS);
      break;
    case "platform":
      given.platform = oneOf(name, value, PLATFORMS);
      break;
    case "expect":
      given.expect = nonEmpty(name, value);
      break;
    case "why":
      given.why = { parent: value, child: secondOf(rest) };
      break;
    default:
      name satisfies never;
  }
}

function secondOf(rest: string[]): string {
  const child = rest.shift();
  if (child === undefined || child.startsWith("-")) {
    throw new ArgumentFault("--why needs two capsules, PARENT CHILD");
  }
  return child;
}

function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw invalid(name, `it takes one of ${known.join(", ")}`);
  return found;
}

function taskOf({ root, format, expect, why, limits }: Given): Task {
  if (format !== undefined && format !== "text" && (why || expect !== undefined)) {
    throw new ArgumentFault(`--${why ? "why" : "expect"} prints text; leave --format out`);
  }
  if (why) {
    const other = root ?? expect;
    if (other !== undefined)
      throw new ArgumentFault("--why takes two capsules and cannot be combined with a root or --expect");
    if (Object.keys(limits).length > 0) {
      throw new ArgumentFault("--why compares two manifests, whatever the bounds; leave the bounds out");
    }
    return { kind: "why", ...why };
  }
  if (root === undefined) throw new ArgumentFault(`name the capsule to start at, ${CAPSULE}`);
  if (expect !== undefined) return { kind: "expect", root, file: expect };
  return { kind: "show", root, format: format ?? "text" };
}
