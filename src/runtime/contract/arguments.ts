/** The command line of a delegated child: written by its parent, read by itself. */

import { resolve } from "node:path";
import {
  type ArtifactName,
  type ArtifactVersion,
  type Coordinates,
  parseArtifactName,
  parseArtifactVersion,
} from "../../registry/artifact-name.ts";
import { type JsonObject, parseJsonObject } from "../json.ts";
import { fault, ok, type Result } from "../result.ts";
import type { Environment } from "./environment.ts";

/** The program and its arguments; `MURMUR_MUR_BINARY`, else the executable that runs here. */
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
 * A relative path is the parent's, and never looked up where the child starts: after a snapshot that folder holds
 * whatever the parent's does.
 */
function binary(environment: Environment): string {
  const configured = environment.MURMUR_MUR_BINARY ?? "";
  if (configured.trim() === "") return process.execPath;
  if (configured.includes("/")) return resolve(configured);
  return Bun.which(configured, { PATH: environment.PATH ?? "" }) ?? resolve(configured);
}

/** What a runtime was told to run. */
export interface RunArguments {
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** As it was given; the session resolves it. */
  readonly workdir: string;
  /** The approval is the one line of standard input. */
  readonly grantOnStdin: boolean;
  /** The door's token may be on the readiness line. */
  readonly readinessTokens: boolean;
  /** The parent's account of the copy that the work folder started with. */
  readonly parentWorkdir: JsonObject | undefined;
}

/**
 * Reads the arguments after the program's name, `run` first. Arguments it does not know are not looked at: a later
 * parent may say more.
 *
 * The fault is a phrase that names the argument.
 */
export function parseRunArguments(argv: readonly string[]): Result<RunArguments, string> {
  if (argv[0] !== "run") return fault("the first argument must be run");
  const argument = (flag: string): string | undefined => {
    const at = argv.indexOf(flag);
    return at < 0 ? undefined : argv[at + 1];
  };
  const name = parseArtifactName(argument("--capsule") ?? "");
  if (!name) return fault("--capsule must be a full name, <scope>/<name>");
  const version = parseArtifactVersion(argument("--capsule-version") ?? "");
  if (!version) return fault("--capsule-version must be a version");
  const workdir = argument("--workdir") ?? "";
  if (workdir === "") return fault("--workdir must be a folder");
  const account = argument("--parent-workdir-snapshot");
  const parentWorkdir = account === undefined ? undefined : parseJsonObject(account);
  if (account !== undefined && !parentWorkdir)
    return fault("--parent-workdir-snapshot must be a JSON object");
  return ok({
    name,
    version,
    workdir,
    grantOnStdin: argv.includes("--spawn-grant-stdin"),
    readinessTokens: argv.includes("--readiness-tokens"),
    parentWorkdir,
  });
}
