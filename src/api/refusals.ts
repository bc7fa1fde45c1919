/** Every refusal a caller can get, with its status and its exact message. */

import type { BodyFault } from "../json-body.ts";
import { printable } from "../printable.ts";
import type { Excess } from "../referee/axes.ts";
import type { Bound } from "../referee/bounds.ts";
import { type Coordinates, coordinateText, type Sha256 } from "../registry/artifact-name.ts";

export type Refusal =
  /** No endpoint has this path and method, or the id is malformed. `isInexact`: the path, as it was sent, is no endpoint's. */
  | { readonly kind: "not-found"; readonly isInexact?: true }
  | { readonly kind: "session-not-found" }
  /** A caller that a loopback daemon must not answer, such as a web page. `why` completes "this daemon answers only …". */
  | { readonly kind: "foreign-caller"; readonly why: string }
  | BodyFault
  /** A kind of its own, because its message quotes the given value, which may be anything. */
  | { readonly kind: "bad-outcome"; readonly outcome: string }
  /** The caller closed its connection before anything was changed. */
  | { readonly kind: "caller-left" }
  /** Refusals: "identity failures all answer 403 with one message, on every endpoint". */
  | { readonly kind: "identity" }
  | { readonly kind: "not-in-parent-allow"; readonly name: string }
  | { readonly kind: "not-in-spawn-allow"; readonly name: string }
  | { readonly kind: "bound"; readonly bound: Bound; readonly limit: number; readonly held: number }
  | { readonly kind: "envelope"; readonly excesses: readonly [Excess, ...Excess[]] }
  /** The registry's own sentence. */
  | { readonly kind: "unresolved"; readonly message: string }
  | { readonly kind: "approval-expired" }
  | { readonly kind: "approval-redeemed" }
  | {
      readonly kind: "approval-other-coordinates";
      readonly granted: Coordinates;
      readonly asked: Coordinates;
    }
  | {
      readonly kind: "approval-other-bytes";
      readonly asked: Coordinates;
      readonly approved: Sha256;
      readonly resolved: Sha256;
    }
  /** A fault of the daemon itself. */
  | { readonly kind: "internal" };

export type RefusalStatus = 400 | 403 | 404 | 408 | 413 | 500;

/**
 * How far a refused request got. `decision`: it was judged, and the refusal is logged already. `body`: the body was read,
 * and is not valid. `unread`: the body was not read to its end.
 */
type Stage = "decision" | "body" | "unread";

const STATUS_AND_STAGE: { readonly [Kind in Refusal["kind"]]: readonly [RefusalStatus, Stage] } = {
  "not-found": [404, "unread"],
  "session-not-found": [404, "decision"],
  "foreign-caller": [403, "unread"],
  "body-too-large": [413, "unread"],
  "body-too-slow": [408, "unread"],
  "body-ended-early": [400, "unread"],
  "bad-body": [400, "body"],
  "bad-outcome": [400, "body"],
  "caller-left": [400, "decision"],
  identity: [403, "decision"],
  "not-in-parent-allow": [403, "decision"],
  "not-in-spawn-allow": [403, "decision"],
  bound: [403, "decision"],
  envelope: [403, "decision"],
  unresolved: [500, "decision"],
  "approval-expired": [403, "decision"],
  "approval-redeemed": [403, "decision"],
  "approval-other-coordinates": [403, "decision"],
  "approval-other-bytes": [403, "decision"],
  internal: [500, "unread"],
};

export function refusalStatus(refusal: Refusal): RefusalStatus {
  return STATUS_AND_STAGE[refusal.kind][0];
}

export function refusalStage(refusal: Refusal): Stage {
  return STATUS_AND_STAGE[refusal.kind][1];
}

/** The `error` string, to the letter. */
export function refusalMessage(refusal: Refusal): string {
  switch (refusal.kind) {
    case "not-found":
      return "not found";
    case "session-not-found":
      return "session not found";
    case "foreign-caller":
      return `refused before it was read: this daemon answers only ${refusal.why}`;
    case "body-too-large":
      return `the body is larger than ${refusal.maxBytes} bytes`;
    case "body-too-slow":
      return `the body did not arrive within ${refusal.seconds} seconds`;
    case "body-ended-early":
      return "the body ended before all of it had arrived";
    case "bad-body":
      return refusal.what;
    case "bad-outcome":
      return `outcome '${shortened(refusal.outcome)}' is not 'complete' or 'failed'`;
    case "caller-left":
      return "the connection was closed before this request was answered, so nothing was done";
    case "identity":
      return "not authorised: this daemon answers only a credential it minted for a running session, and an approval it minted for that same session";
    case "not-in-parent-allow":
      return `capsule '${refusal.name}' is not in parent's spawn_allow`;
    case "not-in-spawn-allow":
      return `capsule '${refusal.name}' is not in --spawn-allow`;
    case "bound":
      return boundMessage(refusal.bound, refusal.limit, refusal.held);
    case "envelope":
      return refusal.excesses[0].error;
    case "unresolved":
      return refusal.message;
    case "approval-expired":
      return "this spawn approval has passed its expiry; an approval is valid for 60 seconds from the POST /spawn that granted it";
    case "approval-redeemed":
      return "this spawn approval has already been redeemed; an approval covers one launch, so ask POST /spawn for another";
    case "approval-other-coordinates":
      return `this spawn approval was granted for '${coordinateText(refusal.granted)}', not '${coordinateText(refusal.asked)}'`;
    case "approval-other-bytes":
      return `'${coordinateText(refusal.asked)}' now resolves to a different artifact than the one this spawn approval was granted for (approved sha256 ${refusal.approved}, resolved sha256 ${refusal.resolved})`;
    case "internal":
      return "the daemon failed to answer this request";
    default:
      return refusal satisfies never;
  }
}

const MAX_QUOTED_CHARACTERS = 64;

function shortened(text: string): string {
  // A character takes two units at most, and is not cut in two.
  const characters = Array.from(text.slice(0, 2 * MAX_QUOTED_CHARACTERS + 1));
  if (characters.length <= MAX_QUOTED_CHARACTERS) return printable(text);
  return printable(`${characters.slice(0, MAX_QUOTED_CHARACTERS).join("")}…`);
}

function boundMessage(bound: Bound, limit: number, held: number): string {
  switch (bound) {
    case "depth":
      return `delegation depth bound reached: this daemon allows ${limit} levels of delegation below a top-level capsule (--max-depth ${limit}), and this session has none left to spend — a capsule whose capabilities.spawn.allow names itself terminates here rather than recursing`;
    case "machine-ceiling":
      return `machine capsule ceiling reached: this daemon allows ${limit} live capsules on this host across every formation (--max-live-capsules ${limit}), and it is already holding ${held} — this is the host's ceiling rather than this capsule's own --max-concurrent, so narrowing the formation does not help; the same request may be granted once other capsules finish`;
    case "concurrency":
      return `delegation concurrency bound reached: this daemon allows a capsule ${limit} live children at a time (--max-concurrent ${limit}), and this session already holds ${held} — wait for one to finish, or raise --max-concurrent`;
    default:
      return bound satisfies never;
  }
}
