/** The command line of a delegated child: its parent writes it, and the child reads it. */

import { absolutePath } from "../../paths.ts";
import {
  type ArtifactName,
  type ArtifactVersion,
  type Coordinates,
  parseArtifactName,
  parseArtifactVersion,
} from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import { type JsonObject, parseJsonObject } from "../wire.ts";
import type { Environment } from "./environment.ts";

/** The program and its arguments: `MURMUR_MUR_BINARY`, or else the executable that runs here. */
export function childCommand(
  environment: Environment,
  { name, version }: Coordinates,
  workdir: string,
  copy: object | undefined,
): [string, ...string[]] {
  return [
    binary(environment),
    "run",
    "--capsule",
    name,
    "--capsule-version",
    version,
    "--workdir",
    workdir,
    "--json",
    "--readiness-tokens",
    "--no-env-file",
    "--spawn-grant-stdin",
    ...(copy ? ["--parent-workdir-snapshot", JSON.stringify(copy)] : []),
  ];
}

/**
 * A relative path is resolved by the parent, never in the child's start folder: after a snapshot that folder may hold
 * anything that the parent's folder holds.
 */
function binary(environment: Environment): string {
  const configured = environment.MURMUR_MUR_BINARY ?? "";
  if (configured.trim() === "") return process.execPath;
  if (configured.includes("/")) return absolutePath(configured);
  return Bun.which(configured, { PATH: environment.PATH ?? "" }) ?? absolutePath(configured);
}

/** What a runtime was told to run. */
export interface RunArguments {
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** As it was given. The session resolves it. */
  readonly workdir: string;
  /** Whether the approval is the one line of standard input. */
  readonly grantOnStdin: boolean;
  /** Whether the readiness line may show the door's token. */
  readonly readinessTokens: boolean;
  /** The parent's account of the copy that the work folder started with. */
  readonly parentWorkdir: JsonObject | undefined;
}

/**
 * Reads the arguments after the program's name; the first is `run`. Unknown arguments are ignored, because a later
 * parent may pass more.
 *
 * The fault is a phrase that names the argument.
 */
export function parseRunArguments(argv: readonly string[]): Result<RunArguments, string> {
  if (argv[0] !== "run") return fault("the first argument must be run");
  const given = flagsIn(argv);
  const name = parseArtifactName(given.get("--capsule") ?? "");
  if (!name) return fault("--capsule must be a full name, <scope>/<name>");
  const version = parseArtifactVersion(given.get("--capsule-version") ?? "");
  if (!version) return fault("--capsule-version must be a version");
  const workdir = given.get("--workdir") ?? "";
  if (workdir === "") return fault("--workdir must be a folder");
  const account = given.get("--parent-workdir-snapshot");
  const parentWorkdir = account === undefined ? undefined : parseJsonObject(account);
  if (account !== undefined && !parentWorkdir)
    return fault("--parent-workdir-snapshot must be a JSON object");
  return ok({
    name,
    version,
    workdir,
    grantOnStdin: given.has("--spawn-grant-stdin"),
    readinessTokens: given.has("--readiness-tokens"),
    parentWorkdir,
  });
}

const WITH_VALUE = new Set(["--capsule", "--capsule-version", "--workdir", "--parent-workdir-snapshot"]);

/** The first of each flag, with its value if it takes one. A value is no flag, however it is spelled: a version may be. */
function flagsIn(argv: readonly string[]): ReadonlyMap<string, string | undefined> {
  const given = new Map<string, string | undefined>();
  const rest = argv.values();
  for (const flag of rest) {
    const value = WITH_VALUE.has(flag) ? rest.next().value : undefined;
    if (!given.has(flag)) given.set(flag, value);
  }
  return given;
}
