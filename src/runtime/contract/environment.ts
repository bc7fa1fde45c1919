/** The environment of a runtime, of a child that it starts, and of the commands that either runs. */

import { fault, ok, type Result } from "../../result.ts";
import { variableBytes } from "../../sys/this-process.ts";
import { addressOf, type DoorUrl, parseDoorUrl, parseJsonObject, stringIn } from "../wire.ts";

/** A process environment. Names are own keys. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Why a capsule does not start, with the code for its operator to look up if there is one.
 *
 * `E-RUN-019`: it could not take part in spawning (no daemon, no registration, no readable approval).
 * `E-RUN-020`: its spawner handle or its spawner lifeline is invalid. `E-RUN-044`: its formation id is invalid.
 * `E-RUN-046`: its formation did not hand it what a member must get.
 * `E-MAN-003`: its own manifest could not be loaded from its own store.
 */
export interface StartRefusal {
  readonly code?: "E-RUN-019" | "E-RUN-020" | "E-RUN-044" | "E-RUN-046" | "E-MAN-003";
  /** One sentence that names what to change and holds no token. */
  readonly message: string;
}

export function refuse(
  code: NonNullable<StartRefusal["code"]>,
  message: string,
): Result<never, StartRefusal> {
  return fault({ code, message });
}

/** The refusal as one line for standard error: `E-RUN-019: …`. */
export function describeRefusal({ code, message }: StartRefusal): string {
  return code ? `${code}: ${message}` : message;
}

/** What the parent's runtime knows when it starts a child. */
export interface ChildEnvironment {
  /** The parent's own process environment, read at this moment. */
  readonly parent: Environment;
  /** The daemon that approved the child. */
  readonly roostUrl: string;
  /** The number of the lifeline's read end in the child. */
  readonly lifeline: number;
  readonly handle?: SpawnerHandle | undefined;
  readonly formationId?: string | undefined;
  /** `capabilities.env.allow` of the parent's manifest and of the child's. */
  readonly parentAllows: readonly string[];
  readonly childAllows: readonly string[];
}

/** The whole environment of a delegated child. Nothing else of the parent's environment reaches it. */
export function childEnvironment(known: ChildEnvironment): Record<string, string | Uint8Array> {
  const { parent } = known;
  // What the runtime sets, whatever either manifest lists (API page, "The child's environment").
  const runtimes: Environment = {
    PATH: parent.PATH,
    HOME: parent.HOME,
    USER: parent.USER,
    LOGNAME: parent.LOGNAME,
    MURMUR_ROOST_URL: known.roostUrl,
    MURMUR_HOST_WARNINGS_REPORTED: "1",
    MURMUR_SPAWNER_LIFELINE: String(known.lifeline),
    MURMUR_SPAWNER: known.handle && formatSpawnerHandle(known.handle),
    MURMUR_FORMATION_ID: known.formationId,
  };
  const parentAllows = new Set(known.parentAllows);
  const environment: Record<string, string | Uint8Array> = Object.create(null);
  const put = (name: string, value: string | undefined) => {
    if (value !== undefined) environment[name] = asHeld(name, value);
  };
  for (const name of known.childAllows) {
    // A formation token and a lifeline's number are among the names that no manifest can fill.
    if (!parentAllows.has(name) || isOfStarter(name) || Object.hasOwn(runtimes, name)) continue;
    // A name that an object inherits (`__proto__`) is not a variable.
    if (Object.hasOwn(parent, name)) put(name, parent[name]);
  }
  for (const [name, value] of Object.entries(runtimes)) put(name, value);
  return environment;
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes of a value that is not UTF-8, if this process still holds it. Its text has U+FFFD in their place. */
function asHeld(name: string, value: string): string | Uint8Array {
  const bytes = value.includes("\uFFFD") ? variableBytes(name) : undefined;
  return bytes && UTF8.decode(bytes) === value ? bytes : value;
}

/** Whether a spawner or a formation's launcher may set this variable, for the process that it starts. */
function isOfStarter(name: string): boolean {
  return name.startsWith("MURMUR_FORMATION_") || name.startsWith("MURMUR_SPAWNER");
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
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || (isOfStarter(name) && name !== "MURMUR_FORMATION_ID")) continue;
    scrubbed[name] = value;
  }
  scrubbed.MURMUR_SESSION_ID = session.sessionId;
  scrubbed.MURMUR_RUNTIME_DIR = session.runtimeDirectory;
  return scrubbed;
}

/** `lifecycle.delegation_deadline_secs` if the manifest has none. */
const DEFAULT_DELEGATION_SECS = 600;

/**
 * How long handed-off work is watched, in whole seconds. `MURMUR_DELEGATION_TIMEOUT_SECS` overrides the manifest's
 * `lifecycle.delegation_deadline_secs`. A value that is not a positive whole number is ignored.
 */
export function delegationTimeoutSecs(environment: Environment, declared?: number): number {
  const text = environment.MURMUR_DELEGATION_TIMEOUT_SECS?.trim() ?? "";
  const secs = /^\d+$/.test(text) ? Number(text) : 0;
  return secs > 0 ? secs : (declared ?? DEFAULT_DELEGATION_SECS);
}

/** `MURMUR_SPAWNER`: where a delegated child reports its outcome, and for which delegation. */
export interface SpawnerHandle {
  /** The parent's session. A completion addressed to any other is refused. */
  readonly sessionId: string;
  /** The conversation that the delegation comes from. */
  readonly contextId: string;
  readonly delegationId: string;
  /** The parent's door. Absent if no completion is wanted (a plan's `capsule` step). */
  readonly url?: DoorUrl;
}

/** The handle as the value of `MURMUR_SPAWNER`: compact JSON. */
export function formatSpawnerHandle(handle: SpawnerHandle): string {
  return JSON.stringify({
    ...(handle.url && { url: `http://${addressOf(handle.url)}` }),
    session_id: handle.sessionId,
    context_id: handle.contextId,
    delegation_id: handle.delegationId,
  });
}

/**
 * Reads `MURMUR_SPAWNER`. Absent or blank means that nobody delegated this capsule.
 *
 * @returns `E-RUN-020` if the value is unreadable; the message never holds the value
 */
export function parseSpawnerHandle(
  value: string | undefined,
): Result<SpawnerHandle | undefined, StartRefusal> {
  if (value === undefined || value.trim() === "") return ok(undefined);
  const fields = parseJsonObject(value);
  if (!fields) return unreadable("it is not a JSON object");
  const sessionId = id(fields.session_id);
  const contextId = stringIn(fields.context_id);
  const delegationId = id(fields.delegation_id);
  if (!sessionId) return unreadable("session_id is not an id");
  if (!contextId) return unreadable("context_id is not a text, or is empty");
  if (!delegationId) return unreadable("delegation_id is not an id");
  const named = { sessionId, contextId, delegationId };
  if (fields.url === undefined) return ok(named);
  const url = typeof fields.url === "string" ? parseDoorUrl(fields.url) : undefined;
  if (!url) return unreadable("url is not http://<loopback address>:<port>");
  return ok({ ...named, url });
}

function unreadable(why: string): Result<never, StartRefusal> {
  return refuse(
    "E-RUN-020",
    `MURMUR_SPAWNER does not hold a spawner handle: ${why}; unset it to start this capsule on its own`,
  );
}

/** Such an id is sent in a request header, so only visible ASCII is allowed. */
function id(value: unknown): string | undefined {
  return typeof value === "string" && /^[\x21-\x7e]{1,512}$/.test(value) ? value : undefined;
}
