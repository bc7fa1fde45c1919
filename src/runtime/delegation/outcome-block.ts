/** An outcome as the delegating model reads it (API page, "How the outcome arrives"). */

import { printable } from "../../printable.ts";
import { bareName } from "../../registry/artifact-name.ts";
import type { CompletionStatus } from "./completion.ts";
import { fenceUntrusted } from "./fence.ts";
import type { DelegationIdentity } from "./identity.ts";
import { sourceOf } from "./quoted.ts";
import type { Answer, KeptAnswer } from "./result-file.ts";
import { CUT_MARK } from "./utf8.ts";

/** How a delegation ended, as far as its task is told. */
export type ToldEnd =
  | {
      readonly kind: "recorded";
      readonly status: CompletionStatus;
      readonly durationMs: number;
      readonly detail?: string | undefined;
      readonly answer: Answer;
    }
  /** There is no readable `completion.json`. */
  | { readonly kind: "unknown"; readonly reason: string };

/** The block: one line from the runtime, then everything else inside one fence. */
export function outcomeBlock(identity: DelegationIdentity, ended: ToldEnd): string {
  const { delegationId, name, version } = identity;
  const bare = bareName(name);
  const status = ended.kind === "recorded" ? ended.status : "unknown";
  const body =
    ended.kind === "recorded"
      ? `${notice(identity, ended)}\n${result(identity, ended.answer)}`
      : ended.reason;
  const head = `[delegate-task] delegation ${delegationId} to ${bare}@${printable(version)} ended ${status}:`;
  return `${head}\n${fenceUntrusted(sourceOf(name), body)}`;
}

/** Joins the blocks of a round, given in id order, with a blank line between them. */
export function joinBlocks(blocks: readonly string[]): string {
  return blocks.join("\n\n");
}

/** A completion's text without the answer: the message of its post, and its block's body up to `result`. */
export function notice(
  identity: DelegationIdentity,
  ended: {
    readonly status: CompletionStatus;
    readonly durationMs: number;
    readonly detail?: string | undefined;
  },
): string {
  const lines = [
    "Delegated capsule finished.",
    `delegation_id: ${identity.delegationId}`,
    `capsule: ${bareName(identity.name)}@${identity.version}`,
    `session_id: ${identity.sessionId}`,
    `status: ${ended.status}`,
    `duration_ms: ${ended.durationMs}`,
    `workdir: ${identity.workdir}`,
  ];
  if (ended.detail !== undefined) lines.push(`detail: ${indentFurtherLines(ended.detail)}`);
  return lines.join("\n");
}

/** Indents further lines, so that no line of a detail looks like a field. */
function indentFurtherLines(text: string): string {
  return text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/).join("\n  ");
}

function result({ delegationId }: DelegationIdentity, answer: Answer): string {
  switch (answer.kind) {
    case "none":
      return "result: none (the child wrote no result file)";
    case "empty":
      return "result: (the child's result file is empty)";
    case "whole":
      return `result:\n${answer.text}`;
    case "cut":
      return `result:\n${answer.text}${CUT_MARK}\n[cut at ${answer.shownBytes} of ${answer.totalBytes} bytes; ${whereKept(delegationId, answer.kept)}]`;
    default:
      return answer satisfies never;
  }
}

function whereKept(delegationId: string, kept: KeptAnswer): string {
  const place = `delegations/${delegationId}.txt in the runtime directory`;
  switch (kept.kind) {
    case "whole":
      return `the whole answer is ${place}`;
    case "beginning":
      return `its first ${kept.bytes} bytes are ${place}`;
    case "not-kept":
      return `the whole answer could not be kept in the runtime directory: ${kept.reason}`;
    default:
      return kept satisfies never;
  }
}
