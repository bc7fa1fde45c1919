/** A task that delegates: what its delegations need to know of it. */

import type { DoorUrl } from "../addresses.ts";
import type { LaunchOutcome, LaunchRequest } from "../launch/outcome.ts";
import type { DelegatingSession, RegisteredSession } from "../session/session.ts";
import type { deliverTask } from "./delivery.ts";
import type { CompletionDoor } from "./door.ts";

/** Whose delegations they are, and where their completions arrive. */
export interface TaskDelegationsOptions {
  readonly session: DelegatingSession;
  /** The session's own, which its A2A door mounts (`completionPlugin`). */
  readonly door: CompletionDoor;
  /** Where that door listens. */
  readonly doorUrl: DoorUrl;
  readonly taskId: string;
  readonly contextId: string;
  /** Starts a child and hands it its task; what is left out is the real one. */
  readonly launch?: (session: RegisteredSession, asked: LaunchRequest) => Promise<LaunchOutcome>;
  readonly deliver?: typeof deliverTask;
}
