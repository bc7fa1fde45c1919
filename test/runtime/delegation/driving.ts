/** A test's hand on delegations: started, waited for, and what stands of them afterwards. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TaskDelegations, TaskDelegationsOptions } from "../../../src/runtime/index.ts";
import type { Host } from "./host.ts";
import type { Misdeeds } from "./worker-misdeeds.ts";

/** What a call that started something gave the model. */
export interface Started {
  readonly delegation_id: string;
  readonly session_id: string;
  readonly child_workdir: string;
}

export async function started(task: TaskDelegations, what: string): Promise<Started> {
  const result = await task.call({ capsule: "worker", version: "0.1.0", task: what });
  if (result.kind !== "started") throw new Error(result.text);
  return JSON.parse(result.text);
}

/** The task of a worker that does as the plan says. */
export function misdeed(plan: Misdeeds): string {
  return `misdeed:${JSON.stringify(plan)}`;
}

/** Where a child that keeps the contract has its records. */
export function recordsOf(home: string, child: Started): string {
  return join(home, ".murmur", "records", child.child_workdir.slice(1), child.session_id);
}

export function recordOf(home: string, child: Started): Record<string, unknown> {
  return JSON.parse(readFileSync(join(recordsOf(home, child), "completion.json"), "utf8"));
}

/** What a task came to that was waited for. */
export interface Continued {
  readonly delegations: readonly string[];
  readonly text: string;
  /** The statuses it emitted. */
  readonly said: string[];
}

/** The wait for a round that ends with something to tell. */
export async function continued(task: TaskDelegations): Promise<Continued> {
  const said: string[] = [];
  const settled = await task.settle({ kind: "finished", turnsLeft: 1 }, (status) => said.push(status));
  if (settled.kind !== "continue") throw new Error(settled.kind);
  return { ...settled, said };
}

/** One delegation, waited for: what the model reads, and what was said meanwhile. */
export async function delegate(host: Host, what: string, more: Partial<TaskDelegationsOptions> = {}) {
  const task = host.task(more);
  const child = await started(task, what);
  return { child, ...(await continued(task)) };
}

/** A block as a reader sees it who knows only the fence: everything outside of it was written by the runtime. */
export interface Block {
  readonly delegationId: string;
  readonly status: string;
  /** What stands inside the fence. */
  readonly body: string;
}

/**
 * Parts what a model reads into its blocks, by their order.
 *
 * @throws Error where a word stands outside of a fence that is no head of a block
 */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const block =
    /\[delegate-task\] delegation (\S+) to worker@0\.1\.0 ended (\w+):\n<untrusted-content source=delegation:worker>\n([\s\S]*?)\n<\/untrusted-content>(?:\n\n|$)/y;
  for (let at = 0; at < text.length; at = block.lastIndex) {
    block.lastIndex = at;
    const [, delegationId = "", status = "", body = ""] = block.exec(text) ?? [];
    if (delegationId === "") throw new Error(`outside of a fence: ${text.slice(at, at + 500)}`);
    if (/<\/?untrusted-content/i.test(body)) throw new Error(`a marker inside of a fence: ${body}`);
    blocks.push({ delegationId, status, body });
  }
  return blocks;
}
