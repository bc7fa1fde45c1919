/** What the launcher itself knows about a delegation. Nothing that the child reports later can change it. */

import type { Coordinates } from "../../registry/artifact-name.ts";
import type { LaunchedChild } from "../launch/outcome.ts";

export interface DelegationIdentity extends Coordinates {
  readonly delegationId: string;
  /** The child's session id, from its readiness line. */
  readonly sessionId: string;
  /** The absolute path of the child's work folder. */
  readonly workdir: string;
}

/** The identity of a child that has reported itself ready. */
export function identityOf(child: LaunchedChild): DelegationIdentity {
  const { name, version, delegationId, sessionId } = child;
  return { name, version, delegationId, sessionId, workdir: child.workdir.path };
}
