/** The environment of a runtime, of a child that it starts, and of the commands that either runs. */

import { fault, ok, type Result } from "../../result.ts";
import type { StartRefusal } from "../start-refusal.ts";
import { formatSpawnerHandle, type SpawnerHandle } from "./spawner-handle.ts";

/** A process environment. Names are own keys. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A formation: `frm_` and 32 lowercase hex digits. */
export type FormationId = string & { readonly __brand: "FormationId" };

/**
 * The nine names that the runtime sets in a delegated child, whatever either manifest lists (API page, "The child's
 * environment").
 */
export const RUNTIME_NAMES = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "MURMUR_ROOST_URL",
  "MURMUR_HOST_WARNINGS_REPORTED",
  "MURMUR_SPAWNER_LIFELINE",
  "MURMUR_SPAWNER",
  "MURMUR_FORMATION_ID",
] as const;
type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** What the parent's runtime knows when it starts a child. */
export interface ChildEnvironment {
  /** The parent's own process environment, read at this moment. */
  readonly parent: Environment;
  /** The daemon that approved the child. */
  readonly roostUrl: string;
  /** The number of the lifeline's read end in the child. */
  readonly lifeline: number;
  readonly handle?: SpawnerHandle | undefined;
  readonly formationId?: FormationId | undefined;
  /** `capabilities.env.allow` of the parent's manifest and of the child's. */
  readonly parentAllows: readonly string[];
  readonly childAllows: readonly string[];
}

/** The whole environment of a delegated child. Nothing else of the parent's environment reaches it. */
export function childEnvironment(known: ChildEnvironment): Record<string, string> {
  const environment: Record<string, string> = Object.create(null);
  const put = (name: string, value: string | undefined) => {
    if (value !== undefined) environment[name] = value;
  };
  const parentAllows = new Set(known.parentAllows);
  for (const name of known.childAllows) {
    if (isRuntimes(name) || !parentAllows.has(name)) continue;
    put(name, own(known.parent, name));
  }
  const runtimes: Record<RuntimeName, string | undefined> = {
    PATH: own(known.parent, "PATH"),
    HOME: own(known.parent, "HOME"),
    USER: own(known.parent, "USER"),
    LOGNAME: own(known.parent, "LOGNAME"),
    MURMUR_ROOST_URL: known.roostUrl,
    MURMUR_HOST_WARNINGS_REPORTED: "1",
    MURMUR_SPAWNER_LIFELINE: String(known.lifeline),
    MURMUR_SPAWNER: known.handle && formatSpawnerHandle(known.handle),
    MURMUR_FORMATION_ID: known.formationId,
  };
  for (const name of RUNTIME_NAMES) put(name, runtimes[name]);
  return environment;
}

/**
 * Names that no manifest can fill, even if the runtime does not set them. A formation token and a lifeline's number are
 * among them.
 */
function isRuntimes(name: string): boolean {
  return (
    RUNTIME_NAMES.some((taken) => taken === name) ||
    name.startsWith("MURMUR_FORMATION_") ||
    name.startsWith("MURMUR_SPAWNER")
  );
}

/** A name that an object inherits (`__proto__`) is not a variable. */
export function own(environment: Environment, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

/**
 * The environment that a runtime starts its commands with: its own, plus the session it runs in, minus the variables
 * from its spawner or its formation.
 *
 * Pass it to every `Bun.spawn`: deleting from `process.env` does not change what Bun passes on.
 */
export function commandEnvironment(
  environment: Environment,
  session: { readonly sessionId: string; readonly runtimeDirectory: string },
): Record<string, string> {
  const scrubbed: Record<string, string> = Object.create(null);
  for (const name of Object.keys(environment)) {
    const value = own(environment, name);
    const between = name.startsWith("MURMUR_SPAWNER") || name.startsWith("MURMUR_FORMATION_");
    if (value !== undefined && (!between || name === "MURMUR_FORMATION_ID")) scrubbed[name] = value;
  }
  scrubbed.MURMUR_SESSION_ID = session.sessionId;
  scrubbed.MURMUR_RUNTIME_DIR = session.runtimeDirectory;
  return scrubbed;
}

/** Reads `MURMUR_FORMATION_ID`. Unset or blank means that the session is in no formation. */
export function readFormationId(environment: Environment): Result<FormationId | undefined, StartRefusal> {
  const text = own(environment, "MURMUR_FORMATION_ID")?.trim() ?? "";
  if (text === "") return ok(undefined);
  if (/^frm_[0-9a-f]{32}$/.test(text)) return ok(text as FormationId);
  return fault({
    code: "E-RUN-044",
    message:
      "MURMUR_FORMATION_ID is not a formation id: it must be frm_ and 32 lowercase hex digits, or unset",
  });
}

/** `lifecycle.delegation_deadline_secs` if the manifest has none. */
const DEFAULT_DELEGATION_SECS = 600;

/**
 * How long handed-off work is watched, in whole seconds. `MURMUR_DELEGATION_TIMEOUT_SECS` overrides the manifest's
 * `lifecycle.delegation_deadline_secs`. A value that is not a positive whole number is ignored.
 */
export function delegationTimeoutSecs(environment: Environment, declared?: number): number {
  const text = own(environment, "MURMUR_DELEGATION_TIMEOUT_SECS")?.trim() ?? "";
  const secs = /^\d+$/.test(text) ? Number(text) : 0;
  return secs > 0 ? secs : (declared ?? DEFAULT_DELEGATION_SECS);
}
