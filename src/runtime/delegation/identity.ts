/** What the launcher knows of a delegation by itself: nothing of it is the child's to say. */

import type { Coordinates } from "../../registry/artifact-name.ts";
import type { LaunchedChild } from "../launch/outcome.ts";

export interface DelegationIdentity extends Coordinates {
  readonly delegationId: string;
  /** The child's own session, as its readiness line reported it to the launcher. */
  readonly sessionId: string;
  /** The child's work folder, absolute. */
  readonly workdir: string;
}

/** Of a child that reported itself ready. */
export function identityOf(child: LaunchedChild): DelegationIdentity {
  const { name, version, delegationId, sessionId } = child;
  return { name, version, delegationId, sessionId, workdir: child.workdir.path };
}
