/** What a launch is asked for, and how it can end. */

import { printable } from "../../printable.ts";
import type { ArtifactName, ArtifactVersion } from "../../registry/artifact-name.ts";
import type { Secret } from "../secret.ts";
import type { SnapshotProgress, WorkdirSnapshot } from "../snapshot/account.ts";
import type { HeldDirectory } from "../tree/held.ts";
import type { DoorUrl } from "../wire.ts";
import type { Endable } from "./held-process.ts";

/** What a launch is asked for. */
export interface LaunchRequest {
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** The conversation that the delegation comes from. */
  readonly contextId: string;
  /** The parent's door, if a completion is wanted. A plan's `capsule` step gives none. */
  readonly completionDoor?: DoorUrl;
  /**
   * When it aborts, the launch is given up at any stage, and a process that was started is ended and reaped. A copy of the
   * work folder ends after the system call that it is in, however long the disk takes.
   */
  readonly signal?: AbortSignal;
  /** Called once, if a process was started. From then on the delegation has its id. */
  readonly onStarted?: (delegationId: string) => void;
  /** Called once, as soon as the child reported a session of its own. It may still turn out to be unusable. */
  readonly onReported?: (child: ReportedChild) => void;
  /** Called now and then while the parent's work folder is copied. */
  readonly onProgress?: (progress: SnapshotProgress) => void;
}

/** A child that reported a session of its own, in its folder. */
export type ReportedChild = Pick<
  LaunchedChild,
  "delegationId" | "name" | "version" | "sessionId" | "copy"
> & { readonly workdir: Pick<HeldDirectory, "path"> };

/** How a launch ended. */
export type LaunchOutcome =
  | { readonly kind: "launched"; readonly child: LaunchedChild }
  /** No child exists. `sentence` is the daemon's, with invisible characters escaped, or says why it could not be asked. */
  | { readonly kind: "refused"; readonly sentence: string }
  | { readonly kind: "failed"; readonly failure: LaunchFailure };

/** What went wrong: one word for each way a launch can fail. `message` gives the details for a reader. */
export type LaunchFailureCause =
  /** The parent's own store does not hold the artifact that was judged. */
  | "artifact"
  | "lifeline"
  | "folder"
  | "snapshot"
  /** The approval expired before the child could be started. */
  | "expired"
  | "not-started"
  /** The process ended without a first line. */
  | "ended"
  /** No first line within the launch bound. */
  | "silent"
  | "not-json"
  | "no-session-id"
  /** The child reported its parent's session id, or another child's. */
  | "taken-session-id"
  | "bad-door"
  | "bad-token"
  | "canceled"
  /** Something in this process threw unexpectedly: a bug in this library, or in what it was given. */
  | "broken";

/** Why a granted launch has no child. */
export interface LaunchFailure {
  readonly cause: LaunchFailureCause;
  /** Names what failed and where, in the launcher's words. Holds no token and nothing that the child said. */
  readonly message: string;
  /** The last lines of the child's standard error, at most 20, redacted and escaped. */
  readonly lastLines?: readonly string[];
  /** Present if a process had been started: its delegation, its session if it reported one, and the work folder, which is kept. */
  readonly started?: {
    readonly delegationId: string;
    readonly sessionId?: string;
    readonly workdir: string;
  };
}

export type FailedLaunch = Extract<LaunchOutcome, { kind: "failed" }>;

/** @param why follows a mention of the child */
export function failed(cause: LaunchFailureCause, asked: LaunchRequest, why: string): FailedLaunch {
  // An error message of a store or of the system may quote anything.
  const message = printable(`could not launch ${asked.name}@${asked.version}: ${why}`);
  return { kind: "failed", failure: { cause, message } };
}

export function canceled(asked: LaunchRequest): FailedLaunch {
  return failed("canceled", asked, "the launch was given up");
}

/**
 * A child's own records directory, or why no record can be read. `unclear`: it may exist, but could not be opened, because
 * no descriptor was free or for another reason.
 */
export type ChildRecords =
  | { readonly ok: true; readonly value: HeldDirectory }
  | { readonly ok: false; readonly fault: string; readonly unclear?: "no-descriptor" | "unreadable" };

/** A child that reported itself ready. The launcher keeps hold of its process until it has been reaped. */
export interface LaunchedChild extends Endable, Disposable {
  readonly delegationId: string;
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  /** The child's own session, as it reported it. */
  readonly sessionId: string;
  /** Absent if the capsule serves no A2A. */
  readonly door: DoorUrl | undefined;
  /** The bearer token of that door, if it has one. */
  readonly operatorToken: Secret | undefined;
  /**
   * The tokens of this launch: its approval and the child's own. They are redacted from everything that the child says.
   */
  readonly secrets: readonly Secret[];
  /** The child's work folder; held until `release`. */
  readonly workdir: HeldDirectory;
  /**
   * The child's own records directory, held until `release`. While it could not be opened, it is looked for again each
   * time this is read, and when the child has ended.
   */
  readonly records: ChildRecords;
  /** What the folder started with, if the parent's was copied into it. */
  readonly copy: WorkdirSnapshot | undefined;
  readonly pid: number;
  /** When its first line was read, on the session's clock (`elapsed`): the child watch counts from here. */
  readonly readyAt: number;
  /** The last lines of its standard error, at most 20; waits up to 5 s for the end of the pipe. */
  lastStderrLines(): Promise<string[]>;
  /** Lets go of the child's folders. Call it once you have read what the child left. It does not end the child. */
  release(): void;
  /** The same: `using child = outcome.child`. */
  [Symbol.dispose](): void;
}
