/** The readiness line: one JSON object that a runtime prints first and its parent reads. */

import { isSessionId } from "../../api/schemas.ts";
import { fault, ok, type Result } from "../../result.ts";
import { redactSaid } from "../redaction.ts";
import { parseSecret, Secret } from "../secret.ts";
import {
  addressOf,
  type DoorUrl,
  type JsonObject,
  objectIn,
  parseDoorUrl,
  parseJsonObject,
  stringIn,
} from "../wire.ts";

/** What a child said about itself. Only `sessionId` is always present. All of it is the child's own claim. */
export interface Readiness {
  readonly sessionId: string;
  /** Absent if the capsule serves no A2A: a script's `url` is empty. */
  readonly door: DoorUrl | undefined;
  /** The door's bearer token. */
  readonly operatorToken: Secret | undefined;
  /** The child's own records directory, as the child named it. It is not checked here. */
  readonly recordsDirectory: string | undefined;
}

interface ReadinessFault {
  readonly kind: "not-json" | "no-session-id" | "bad-door" | "bad-token";
  /** A phrase that follows "its first line ". It quotes nothing of the line, which may hold a token. */
  readonly why: string;
  /** The id, if the line holds a valid one. */
  readonly sessionId?: string;
}

/**
 * Reads a child's first line. Unknown keys are ignored.
 *
 * @param approval what the child was launched with: an id that contains it, or the child's own token, is refused,
 *   because the id is written everywhere
 */
export function parseReadiness(line: string, approval: Secret): Result<Readiness, ReadinessFault> {
  const fields = parseJsonObject(line);
  if (!fields) return fault({ kind: "not-json", why: "is not a JSON object" });
  const sessionId = fields.session_id;
  if (typeof sessionId !== "string" || !isSessionId(sessionId)) {
    return fault({ kind: "no-session-id", why: "holds no session_id" });
  }
  const token = operatorIn(fields);
  const operatorToken = parseSecret(token);
  const isShowing = showsToken(sessionId, [approval, ...toRedact(token)]);
  const reported = isShowing ? {} : { sessionId };
  const address = stringIn(fields.url) ?? "";
  const door = address === "" ? undefined : parseDoorUrl(`http://${address}`);
  if (address !== "" && !door) {
    const why = "names a url that is not <loopback address>:<port>, port 1 to 65535";
    return fault({ kind: "bad-door", why, ...reported });
  }
  if (token !== undefined && token !== null && !operatorToken) {
    return fault({ kind: "bad-token", why: "holds a tokens.operator that is no bearer token", ...reported });
  }
  if (isShowing) {
    return fault({ kind: "no-session-id", why: "holds a session_id that shows a token" });
  }
  return ok({
    sessionId,
    door,
    operatorToken,
    recordsDirectory: stringIn(fields.records_dir) || undefined,
  });
}

/** What a child's first line names as its token, to be redacted whatever else is wrong with that line. */
export function tokensIn(line: string): Secret[] {
  return toRedact(operatorIn(parseJsonObject(line)));
}

function operatorIn(fields: JsonObject | undefined): unknown {
  return objectIn(fields?.tokens)?.operator;
}

/** The longest bearer token. */
const LONGEST_TOKEN = 8192;

/** Also what is no bearer token: it may hold one, with a line feed after it or with `Bearer` before it. */
function toRedact(token: unknown): Secret[] {
  const text = stringIn(token)?.trim().slice(0, LONGEST_TOKEN);
  return text ? [new Secret(text)] : [];
}

/** A shorter token can be part of an id by chance. */
const TOLD_FROM_CHANCE = 16;

function showsToken(id: string, tokens: readonly Secret[]): boolean {
  const long = tokens.filter((token) => token.reveal().length >= TOLD_FROM_CHANCE);
  return redactSaid(id, long) !== id;
}

/** The session ids of a session's children. */
export type ChildSessions = ReturnType<typeof createChildSessions>;

/**
 * Each child must have a session id of its own. A child's records and result are looked up by its id, so a child that
 * reported another session's id could have that session's files read and written as its own. An id stays taken for as
 * long as this process runs, because what a child left behind still belongs to that child.
 *
 * @param spawner the session that started this one, if there is one
 */
export function createChildSessions(own: string, spawner: string | undefined) {
  const taken = new Map([[own, "this capsule"]]);
  if (spawner !== undefined && spawner !== own) taken.set(spawner, "this capsule's spawner");
  return {
    /** Takes the id that a child reported. The fault is a phrase that says who has it, and follows "its first line ". */
    claim(id: string): Result<undefined, string> {
      const whose = taken.get(id);
      if (whose !== undefined) {
        return fault(`names the session of ${whose}, ${id}; a child must report an id that it minted itself`);
      }
      taken.set(id, "another child of this capsule");
      return ok(undefined);
    },
  };
}

/** What a TypeScript capsule says about itself. */
interface ReadinessReport {
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
  readonly workdir: string;
  readonly recordsDirectory: string;
  readonly door?: DoorUrl;
  /** Printed in clear: the line goes to the parent's pipe, and only under `--readiness-tokens`. */
  readonly operatorToken?: Secret;
  readonly formationId?: string;
}

/** The line without its line feed. */
export function formatReadiness(report: ReadinessReport): string {
  return JSON.stringify({
    session_id: report.sessionId,
    url: report.door ? addressOf(report.door) : "",
    name: report.name,
    version: report.version,
    pid: process.pid,
    workdir: report.workdir,
    records_dir: report.recordsDirectory,
    ...(report.operatorToken && { tokens: { operator: report.operatorToken.reveal() } }),
    ...(report.formationId && { formation_id: report.formationId }),
  });
}
