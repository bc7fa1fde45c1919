/** The tool `delegate-task`, as a model sees it (API page, "The delegation tool"): its definition, a call, a result. */

import {
  type ArtifactName,
  bareName,
  type Coordinates,
  parseArtifactVersion,
} from "../../registry/artifact-name.ts";
import { fault, ok, type Result } from "../../result.ts";
import type { LaunchedChild } from "../launch/outcome.ts";
import type { RuntimeManifest } from "../manifest.ts";
import { objectIn, stringIn } from "../wire.ts";
import { CUT_MARK, cutText } from "./untrusted.ts";

/** A tool's definition; `input_schema` is JSON Schema. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly input_schema: object;
}

/** One capsule's `delegate-task` tool. */
export interface DelegateTask {
  readonly definition: ToolDefinition;
  /** Maps each name that a model can give to the full name that we ask the daemon for. */
  readonly capsules: ReadonlyMap<string, ArtifactName>;
}

/** A capsule's tool; `undefined` if its manifest lets it spawn nothing. */
export function delegateTaskOf({ spawnAllow, workdirSnapshot }: RuntimeManifest): DelegateTask | undefined {
  if (spawnAllow.length === 0) return undefined;
  const capsules = new Map(spawnAllow.map((name) => [bareName(name), name]));
  const copied = spawnAllow.filter((name) => workdirSnapshot.includes(name)).map(bareName);
  return { definition: define([...capsules.keys()], copied), capsules };
}

function define(names: readonly string[], copied: readonly string[]): ToolDefinition {
  const sentences = [
    "Hands a task to a sub-capsule.",
    "The call returns once the sub-capsule runs and holds its task; it does not wait for the answer.",
    "It returns a delegation_id, which the answer will name, and child_workdir, the folder the sub-capsule works in.",
    "When you end your turn, this task waits for every sub-capsule it started and goes on with all their answers.",
    "A sub-capsule may leave no answer: it then reads `result: none`.",
    ...copied.map(
      (name) =>
        `${name} starts with a copy of this capsule's work folder as it is when the call is made, and nothing it changes reaches this capsule's work folder.`,
    ),
  ];
  const text = (description: string) => ({ type: "string", description });
  return {
    name: "delegate-task",
    description: sentences.join(" "),
    input_schema: {
      type: "object",
      properties: {
        capsule: { ...text("The sub-capsule's name."), enum: names },
        version: text("Its exact version. latest, stable and edge name no version."),
        task: text("The whole of what the sub-capsule is told: it knows nothing else of this conversation."),
      },
      required: ["capsule", "version", "task"],
      additionalProperties: false,
    },
  };
}

/** What a model asked for. */
export interface DelegationRequest extends Coordinates {
  readonly task: string;
}

/** Reads a call's arguments. The fault is a sentence for the model. */
export function readArguments(tool: DelegateTask, given: unknown): Result<DelegationRequest, string> {
  const fields = objectIn(given);
  const bare = stringIn(fields?.capsule);
  const name = bare === undefined ? undefined : tool.capsules.get(bare);
  if (!name) {
    return fault(`capsule must be one of ${[...tool.capsules.keys()].join(", ")} (capabilities.spawn.allow)`);
  }
  const version = parseArtifactVersion(stringIn(fields?.version) ?? "");
  if (!version) return fault(`version must be the exact version of ${bare}, such as 1.0.0`);
  const task = stringIn(fields?.task);
  if (task === undefined) return fault("task must be a string: the whole of what the sub-capsule is told");
  return ok({ name, version, task });
}

/** What the call returns to the model: a refusal is a plain sentence; anything else is one JSON object. */
export interface DelegateTaskResult {
  readonly kind: "started" | "refused" | "failed";
  readonly text: string;
}

/** The longest `output`, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024;

export function refused(sentence: string): DelegateTaskResult {
  return { kind: "refused", text: sentence };
}

/** The child runs and holds its task. */
export function started(child: LaunchedChild): DelegateTaskResult {
  return answer("started", child, child, { child_workdir: child.workdir.path });
}

/** The ids of what a call started, as far as there are any. */
export interface StartedIds {
  readonly delegationId?: string;
  readonly sessionId?: string;
}

/** There is no delegation. */
export function failed(asked: Coordinates, why: string, ids: StartedIds): DelegateTaskResult {
  const output = cutText(why, MAX_OUTPUT_BYTES - Buffer.byteLength(CUT_MARK));
  return answer("failed", asked, ids, { output });
}

function answer(
  status: "started" | "failed",
  { name, version }: Coordinates,
  { delegationId = "", sessionId = "" }: StartedIds,
  more: object,
): DelegateTaskResult {
  const ids = { delegation_id: delegationId, session_id: sessionId };
  return {
    kind: status,
    text: JSON.stringify({ ...ids, capsule: bareName(name), version, status, ...more }),
  };
}
