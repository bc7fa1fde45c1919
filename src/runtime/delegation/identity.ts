/** What the launcher knows of a delegation by itself: nothing of it is the child's to say. */

import type { Coordinates } from "../../registry/artifact-name.ts";

export interface DelegationIdentity extends Coordinates {
  readonly delegationId: string;
  /** The child's own session, as its readiness line reported it to the launcher. */
  readonly sessionId: string;
  /** The child's work folder, absolute. */
  readonly workdir: string;
}
