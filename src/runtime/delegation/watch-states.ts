/**
 * The states of a delegation once its child has its task, and how each event changes them (API page, "Bounds" and "How
 * the outcome arrives"). This file only decides: it returns the effects for the caller to perform. When an effect is
 * finished, the caller passes that in as another event.
 */

import type { DelegationEnd } from "./child.ts";
import type { CompletionRecord } from "./completion.ts";

export type WatchState =
  /** Its child has its task. `posted`: a completion arrived without a record. Any local process can post one. */
  | { readonly kind: "watching"; readonly posted: boolean }
  /** A completion arrived. Its child now has some time to exit. */
  | { readonly kind: "leaving" }
  /** Its child is being ended. */
  | { readonly kind: "ending"; readonly cause: EndingCause }
  /** Its child is gone or given up on, and how it exited is being read. `reason`: why we ended it, if we did. */
  | { readonly kind: "explaining"; readonly reason?: string }
  | { readonly kind: "over"; readonly end: DelegationEnd };

type EndingCause =
  /** It had reported but did not exit. `record`: its record at that time. */
  | { readonly by: "report"; readonly record: CompletionRecord }
  /** `unclear`: it had posted a completion, but its record could not be read. If it can be read later, it counts. */
  | {
      readonly by: "task" | "deadline" | "backstop";
      readonly reason: string;
      readonly unclear?: true;
    };

/**
 * What happens. `left` is the child's own record at that moment, if it is needed and there is one. `unread`: why it could
 * not be read, so that it is not known whether there is one.
 */
export type WatchEvent = {
  readonly left: CompletionRecord | undefined;
  readonly unread?: string | undefined;
} & Happening;

export type Happening =
  /** The child's process ended. `lost`: why its exit status is not known. */
  | { readonly kind: "exited"; readonly lost?: string | undefined }
  /** A completion arrived at the door. */
  | { readonly kind: "arrived" }
  /** The child did not exit in the time it had after its completion. */
  | { readonly kind: "overdue" }
  /** The task ends the child, or the child watch has run out. */
  | { readonly kind: "task" | "deadline"; readonly reason: string }
  /** No outcome came within the task's own wait. */
  | { readonly kind: "backstop"; readonly reason: string }
  /** The child was ended. */
  | { readonly kind: "ended" }
  | { readonly kind: "explained"; readonly how: string };

/** What the caller must do. Each names the event that reports it as done. */
export type Effect =
  /** `overdue`, once the child's time to exit is up. */
  | "await-exit"
  /** `ended`, once the child has been reaped. */
  | "end-child"
  /** `ended`, once the child has been reaped, but one second after the grace at the latest. */
  | "end-child-in-time"
  /** Completions of this delegation are refused from now on. */
  | "refuse-completions"
  /** `explained`, with the child's exit and last lines. */
  | "explain";

export interface Step {
  readonly state: WatchState;
  readonly effects: readonly Effect[];
}

export const WATCHING: WatchState = { kind: "watching", posted: false };

export function next(state: WatchState, event: WatchEvent): Step {
  if (event.kind === "backstop" && state.kind !== "over") return atBackstop(state, event);
  switch (state.kind) {
    case "watching":
    case "leaving":
      return whileItRuns(state, event);
    case "ending":
      return event.kind === "ended" ? afterItsEnd(state.cause, event) : stay(state);
    case "explaining":
      return event.kind === "explained" ? over(explained(state, event.how)) : stay(state);
    case "over":
      return stay(state);
    default:
      return state satisfies never;
  }
}

type Running = Extract<WatchState, { kind: "watching" | "leaving" }>;

function whileItRuns(state: Running, event: WatchEvent): Step {
  const { left, unread } = event;
  switch (event.kind) {
    case "exited":
      if (left) return over({ kind: "reported", record: left });
      if (unread !== undefined) return over({ kind: "unread", why: unread });
      if (event.lost !== undefined) return over({ kind: "lost", why: event.lost });
      return { state: { kind: "explaining" }, effects: ["explain"] };
    case "arrived":
      return state.kind === "leaving" ? stay(state) : { state: { kind: "leaving" }, effects: ["await-exit"] };
    case "overdue":
      if (state.kind === "watching") return stay(state);
      return left ? endReported(left) : stay({ kind: "watching", posted: true });
    case "task":
    case "deadline": {
      const hasPosted = state.kind === "leaving" || state.posted;
      if (hasPosted && left) return endReported(left);
      const cause: EndingCause = { by: event.kind, reason: event.reason };
      if (hasPosted && unread !== undefined) {
        return { state: { kind: "ending", cause: { ...cause, unclear: true } }, effects: ["end-child"] };
      }
      return { state: { kind: "ending", cause }, effects: ["refuse-completions", "end-child"] };
    }
    case "backstop":
    case "ended":
    case "explained":
      return stay(state);
    default:
      return event satisfies never;
  }
}

/** The outcome is known, but the child is still running. */
function endReported(record: CompletionRecord): Step {
  return { state: { kind: "ending", cause: { by: "report", record } }, effects: ["end-child"] };
}

function afterItsEnd(cause: EndingCause, { left, unread }: WatchEvent): Step {
  if (cause.by !== "report" && cause.unclear) {
    if (left) return over({ kind: "reported", record: left });
    if (unread !== undefined) return over({ kind: "unread", why: unread, reason: cause.reason });
  }
  switch (cause.by) {
    case "report":
      return over(asReported(cause.record, unread === undefined ? left : cause.record));
    case "task":
    case "backstop":
      return over({ kind: "terminated", by: cause.by, reason: cause.reason });
    case "deadline":
      return { state: { kind: "explaining", reason: cause.reason }, effects: ["explain"] };
    default:
      return cause satisfies never;
  }
}

/** The child was still running, so it may have damaged its record since. If so, the record is written again. */
function asReported(record: CompletionRecord, left: CompletionRecord | undefined): DelegationEnd {
  return { kind: "reported", record: left ?? { ...record, delivered: false } };
}

function explained({ reason }: { readonly reason?: string }, how: string): DelegationEnd {
  return reason === undefined
    ? { kind: "crashed", how }
    : { kind: "terminated", by: "deadline", reason, how };
}

/** The last resort: nothing else has ended the delegation in time. */
function atBackstop(state: WatchState, event: Extract<WatchEvent, { kind: "backstop" }>): Step {
  const before = state.kind === "ending" ? state.cause : undefined;
  if (before?.by === "report") return afterItsEnd(before, event);
  const { reason } = event;
  const cause: EndingCause = { by: "backstop", reason, ...(before?.unclear && { unclear: true }) };
  return { state: { kind: "ending", cause }, effects: ["refuse-completions", "end-child-in-time"] };
}

function over(end: DelegationEnd): Step {
  return { state: { kind: "over", end }, effects: [] };
}

function stay(state: WatchState): Step {
  return { state, effects: [] };
}
