/** What `delegate-task` returns to the model (API page, "What the call returns"). */

import { bareName, type Coordinates } from "../../registry/artifact-name.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import { CUT_MARK, cutText } from "./utf8.ts";

/** The longest `output`, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/** A refusal is a plain sentence; anything else is one JSON object. */
export interface DelegateTaskResult {
  readonly kind: "started" | "refused" | "failed";
  readonly text: string;
}

export function refused(sentence: string): DelegateTaskResult {
  return { kind: "refused", text: sentence };
}

/** The child runs and holds its task. */
export function started(child: LaunchedChild): DelegateTaskResult {
  const { delegationId, sessionId, workdir } = child;
  const text = toModel(child, delegationId, sessionId, { status: "started", child_workdir: workdir.path });
  return { kind: "started", text };
}

/** There is no delegation. The ids are absent if nothing was launched. */
export function failed(
  asked: Coordinates,
  why: string,
  { delegationId = "", sessionId = "" }: { readonly delegationId?: string; readonly sessionId?: string } = {},
): DelegateTaskResult {
  const output = cutText(why, MAX_OUTPUT_BYTES - Buffer.byteLength(CUT_MARK));
  return { kind: "failed", text: toModel(asked, delegationId, sessionId, { status: "failed", output }) };
}

function toModel(
  { name, version }: Coordinates,
  delegationId: string,
  sessionId: string,
  end: object,
): string {
  const capsule = bareName(name);
  return JSON.stringify({ delegation_id: delegationId, session_id: sessionId, capsule, version, ...end });
}
