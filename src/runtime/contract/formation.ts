/** What a formation's launcher gives a member: its id, and descriptors, which are checked but never read here. */

import { ok, type Result } from "../../result.ts";
import { isReadable, setCloseOnExec } from "../../sys/descriptors.ts";
import { statusOf } from "../../sys/status.ts";
import { type Environment, refuse, type StartRefusal } from "./environment.ts";
import { readEndIn } from "./lifeline.ts";

/** A formation: `frm_` and 32 lowercase hex digits. */
export type FormationId = string & { readonly __brand: "FormationId" };

/** Reads `MURMUR_FORMATION_ID`. Unset or blank means that the session is in no formation. */
export function readFormationId(environment: Environment): Result<FormationId | undefined, StartRefusal> {
  const text = environment.MURMUR_FORMATION_ID?.trim() ?? "";
  if (text === "") return ok(undefined);
  if (/^frm_[0-9a-f]{32}$/.test(text)) return ok(text as FormationId);
  return refuse(
    "E-RUN-044",
    "MURMUR_FORMATION_ID is not a formation id: it must be frm_ and 32 lowercase hex digits, or unset",
  );
}

/**
 * Checks the three variables of a formation (API page, "Environment variables"). The descriptors that they name become
 * close-on-exec: they are for this process, not for its children.
 *
 * @returns `E-RUN-046` if `MURMUR_FORMATION_PEERS` is set at all, if `MURMUR_FORMATION_LIFELINE` is set outside of a
 *   formation or names anything but an open pipe's read end numbered 3 or above, or if `MURMUR_FORMATION_CHANNEL` names
 *   a descriptor that cannot be read
 */
export function checkFormationEnds(
  environment: Environment,
  formationId: FormationId | undefined,
): Result<undefined, StartRefusal> {
  const peers = environment.MURMUR_FORMATION_PEERS;
  const why =
    peers === undefined
      ? (whyNoLifeline(environment, formationId) ?? whyNoChannel(environment))
      : "MURMUR_FORMATION_PEERS is for a member's components and is set here; unset it";
  return why === undefined ? ok(undefined) : refuse("E-RUN-046", why);
}

function whyNoLifeline(environment: Environment, formationId: FormationId | undefined): string | undefined {
  const text = environment.MURMUR_FORMATION_LIFELINE?.trim() ?? "";
  if (text === "") return undefined;
  const start = "unset MURMUR_FORMATION_LIFELINE to start this capsule outside of a formation";
  if (formationId === undefined) {
    return `MURMUR_FORMATION_LIFELINE is set without MURMUR_FORMATION_ID; ${start}`;
  }
  const end = readEndIn(text);
  return end.ok
    ? whyNotKept("MURMUR_FORMATION_LIFELINE", end.value)
    : `MURMUR_FORMATION_LIFELINE does not name a lifeline: ${end.fault}; ${start}`;
}

/** The channel is not read, because that would consume what it holds. */
function whyNoChannel(environment: Environment): string | undefined {
  const text = environment.MURMUR_FORMATION_CHANNEL?.trim();
  if (text === undefined) return undefined;
  const why = whyUnreadable(text);
  return why === undefined
    ? whyNotKept("MURMUR_FORMATION_CHANNEL", Number(text))
    : `MURMUR_FORMATION_CHANNEL does not name a channel: ${why}; unset it to start this capsule outside of a formation`;
}

function whyUnreadable(text: string): string | undefined {
  if (!/^\d{1,9}$/.test(text)) return "it is not a descriptor's number";
  const status = statusOf(Number(text));
  if (!status.ok) return `descriptor ${text} is not open`;
  const readable = status.value.kind !== "directory" && isReadable(Number(text));
  return readable ? undefined : `descriptor ${text} cannot be read`;
}

/** A standard stream is left alone: each program start decides which streams the new program gets. */
function whyNotKept(variable: string, descriptor: number): string | undefined {
  if (descriptor < 3 || setCloseOnExec(descriptor).ok) return undefined;
  return `${variable}: descriptor ${descriptor} cannot be made close-on-exec; start this capsule anew`;
}
