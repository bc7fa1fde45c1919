/** What delegations need to know about the task that starts them. */

import type { LaunchOutcome, LaunchRequest } from "../launch/outcome.ts";
import type { DelegatingSession, RegisteredSession } from "../session/session.ts";
import type { DoorUrl } from "../wire.ts";
import type { deliverTask } from "./delivery.ts";
import type { CompletionDoor } from "./door.ts";

/** The task that delegates, and where completions for it arrive. */
export interface TaskDelegationsOptions {
  readonly session: DelegatingSession;
  /** The session's completion door; its A2A door mounts it with `completionPlugin`. */
  readonly door: CompletionDoor;
  /** The address on which the A2A door listens. */
  readonly doorUrl: DoorUrl;
  readonly taskId: string;
  readonly contextId: string;
  /** Functions that start a child and hand it its task. The real one is used for any that is left out. */
  readonly launch?: (session: RegisteredSession, asked: LaunchRequest) => Promise<LaunchOutcome>;
  readonly deliver?: typeof deliverTask;
}
