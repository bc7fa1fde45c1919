/**
 * The daemon's flags, their defaults and their faults. Arguments are read from left to right up to the first fault: a
 * misspelt flag must never start a daemon with bounds that its operator did not mean.
 */

import { type ArgsDef, defineCommand } from "citty";
import { printable } from "../printable.ts";
import { DEFAULT_LIMITS } from "../referee/bounds.ts";
import { type ArtifactName, parseArtifactName } from "../registry/artifact-name.ts";
import { ArgumentFault, invalid, nonEmpty, splitArgument, takeValue, wholeNumber } from "./arguments.ts";

/** The flags as given. A flag whose default depends on the host is `undefined` if it was not given. */
export interface Flags {
  /** 0 to 65535; 0 takes a free port. */
  readonly port: number;
  readonly registryPath: string | undefined;
  readonly spawnAllow: ReadonlySet<ArtifactName>;
  readonly maxDepth: number;
  readonly maxConcurrent: number;
  readonly maxLiveCapsules: number | undefined;
}

export type FlagsReading =
  | { readonly kind: "run"; readonly flags: Flags }
  | { readonly kind: "version" }
  /** What is wrong, naming the argument. */
  | { readonly kind: "fault"; readonly fault: string };

/** Each flag, and how its value is shown. */
const FLAGS = {
  port: { type: "string", valueHint: "PORT" },
  "registry-path": { type: "string", valueHint: "DIR" },
  "spawn-allow": { type: "string", valueHint: "SCOPE/NAME" },
  "max-depth": { type: "string", valueHint: "N" },
  "max-concurrent": { type: "string", valueHint: "N" },
  "max-live-capsules": { type: "string", valueHint: "N" },
  version: { type: "boolean" },
} as const satisfies ArgsDef;

/**
 * The program as a command: `run` gets the parsed arguments. The framework itself must be given none, because its parser
 * accepts unknown ones, and throws at some.
 */
export function createCommand(argv: readonly string[], run: (reading: FlagsReading) => void) {
  return defineCommand({
    meta: { name: "mur-roost", description: "Decides which capsules may start which other capsules" },
    args: FLAGS,
    run: () => run(readFlags(argv)),
  });
}

/** One line that shows every flag. */
export function usage(): string {
  const flags = Object.entries(FLAGS).map(([name, arg]) =>
    "valueHint" in arg ? `[--${name} ${arg.valueHint}]${name === "spawn-allow" ? "..." : ""}` : `[--${name}]`,
  );
  return `usage: mur-roost ${flags.join(" ")}`;
}

const MAX_PORT = 65535;

export function readFlags(argv: readonly string[]): FlagsReading {
  try {
    return scan(argv);
  } catch (error) {
    if (error instanceof ArgumentFault) return { kind: "fault", fault: error.message };
    throw error;
  }
}

function scan(argv: readonly string[]): FlagsReading {
  const spawnAllow = new Set<ArtifactName>();
  const flags: { -readonly [Name in keyof Flags]: Flags[Name] } = {
    port: 7700,
    registryPath: undefined,
    spawnAllow,
    ...DEFAULT_LIMITS,
    maxLiveCapsules: undefined,
  };
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const { name, inline } = splitArgument(FLAGS, argument);
    if (name === "version") return { kind: "version" };
    const value = takeValue(name, inline, rest);
    switch (name) {
      case "port":
        flags.port = wholeNumber(name, value, MAX_PORT);
        break;
      case "registry-path":
        flags.registryPath = nonEmpty(name, value);
        break;
      case "spawn-allow":
        spawnAllow.add(fullName(name, value));
        break;
      case "max-depth":
        flags.maxDepth = wholeNumber(name, value);
        break;
      case "max-concurrent":
        flags.maxConcurrent = wholeNumber(name, value);
        break;
      case "max-live-capsules":
        flags.maxLiveCapsules = wholeNumber(name, value);
        break;
      default:
        return name satisfies never;
    }
  }
  return { kind: "run", flags };
}

function fullName(name: string, value: string): ArtifactName {
  const parsed = parseArtifactName(value);
  if (parsed !== undefined) return parsed;
  throw invalid(
    name,
    `it takes one capsule full name, <scope>/<name>, not '${printable(value)}'; repeat the flag per name`,
  );
}
