/**
 * `npm run pack -- FOLDER [--registry-path DIR]`: packs a folder with a `murmur.yaml` into a `.mur.zip`, puts it into the
 * registry under the name and version in its manifest, and prints the capabilities that the daemon reads from it.
 *
 * The name is `<scope>/<name>`, or a bare name, which gets the scope `local`.
 */
import { readFileSync } from "node:fs";
import { writeAll } from "../src/cli/standard-output.ts";
import { defaultRegistry, userPath } from "../src/cli/user-paths.ts";
import { entriesText } from "../src/formation/words.ts";
import { describeOsError, messageOf } from "../src/os-error.ts";
import { pathBelow } from "../src/paths.ts";
import { printable } from "../src/printable.ts";
import { AXES, type Axis } from "../src/referee/axes.ts";
import type { Envelope } from "../src/referee/envelope.ts";
import { parseArtifactName, parseArtifactVersion } from "../src/registry/artifact-name.ts";
import { readManifest } from "../src/registry/manifest.ts";
import { publishFolder } from "./pack/publish.ts";

const USAGE = "usage: npm run pack -- FOLDER [--registry-path DIR]";

class Refusal extends Error {}

interface Arguments {
  readonly folder: string;
  readonly registry: string;
}

function readArguments(args: readonly string[]): Arguments {
  const folders: string[] = [];
  let registry: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? "";
    if (argument === "--registry-path") registry = args[++at] ?? "";
    else if (argument.startsWith("--registry-path=")) registry = argument.slice("--registry-path=".length);
    else if (argument.startsWith("-")) throw new Refusal(`unknown argument: ${argument}; ${USAGE}`);
    else folders.push(argument);
  }
  const [folder, ...more] = folders;
  if (folder === undefined || more.length > 0) throw new Refusal(`one folder is needed; ${USAGE}`);
  if (registry === "") throw new Refusal(`--registry-path needs a folder; ${USAGE}`);
  const where = registry ?? defaultRegistry();
  if (where === undefined) {
    throw new Refusal("HOME is not an absolute path: set it, or name --registry-path");
  }
  return { folder: userPath(folder), registry: userPath(where) };
}

/** @returns the lines to print */
async function pack(args: readonly string[]): Promise<string[]> {
  const { folder, registry } = readArguments(args);
  const manifestPath = pathBelow(folder, "murmur.yaml");
  const reading = readManifest(readText(manifestPath));
  if (!reading.ok) throw new Refusal(`manifest parse error: ${manifestPath}: ${reading.fault}`);
  const { name: declared, version: declaredVersion } = reading.manifest;
  const name = parseArtifactName(declared.includes("/") ? declared : `local/${declared}`);
  if (!name) {
    throw new Refusal(
      `${manifestPath}: name must be 1 to 100 characters of a-z, 0-9 and -, with or without a scope`,
    );
  }
  const version = parseArtifactVersion(declaredVersion);
  if (!version) {
    throw new Refusal(
      `${manifestPath}: version must be 1 to 128 characters without slashes, backslashes or control characters, and not . or ..`,
    );
  }
  const { resolution, path } = await publishFolder(folder, { name, version }, registry);
  if (!resolution.ok) throw new Refusal(resolution.message);
  const { sha256, held } = resolution.artifact;
  return [
    `${name}@${version}`,
    `  ${path}`,
    `  sha256 ${sha256}`,
    "what the daemon holds of it:",
    ...describe(held),
  ];
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Refusal(`${path}: ${describeOsError(error)}`);
  }
}

/** One line for each axis on which the capsule holds something, in the order of the axes. */
function describe(held: Envelope): string[] {
  return AXES.flatMap((axis) => {
    const value = holding(axis, axis.declares(held));
    return value === undefined ? [] : [`  ${axis.key}: ${value}`];
  });
}

/** `undefined` if the capsule holds nothing there. */
function holding({ key, kind }: Axis, entries: readonly string[]): string | undefined {
  switch (kind) {
    case "list":
      return entries.length > 0 ? entriesText(key, entries) : undefined;
    case "flag":
      return entries[0] === "true" ? "true" : undefined;
    case "scope":
      return entries[0] === "" ? "the whole work folder" : entriesText(key, entries);
    case "floor":
      return entries[0];
    default:
      return kind satisfies never;
  }
}

try {
  const fault = await writeAll((await pack(process.argv.slice(2))).map(printable));
  if (fault !== undefined) throw new Refusal(`packed, but standard output could not be written: ${fault}`);
} catch (error) {
  process.stderr.write(`pack: ${printable(messageOf(error))}\n`);
  process.exit(1);
}
