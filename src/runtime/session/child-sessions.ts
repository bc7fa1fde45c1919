/**
 * The session ids that a session's children go by: each its own. Records and result of a child are looked for under its
 * id, so one that goes by another's would have that session's files read and written as its own.
 */

import { fault, ok, type Result } from "../result.ts";

export interface ChildSessions {
  /**
   * Takes the id that a child reported, until the function that comes back is called.
   *
   * The fault is a phrase that says whose id it is, and follows "its first line ".
   */
  claim(id: string): Result<() => void, string>;
}

/** @param spawner the session that started this one, where one did */
export function createChildSessions(own: string, spawner: string | undefined): ChildSessions {
  const held = new Set<string>();
  return {
    claim(id) {
      const whose = id === own ? "this capsule" : id === spawner ? "this capsule's spawner" : undefined;
      const taken = whose ?? (held.has(id) ? "another child of this capsule" : undefined);
      if (taken !== undefined) {
        return fault(`names the session of ${taken}, ${id}; a child must report an id that it minted itself`);
      }
      held.add(id);
      let claimed = true;
      return ok(() => {
        if (claimed) held.delete(id);
        claimed = false;
      });
    },
  };
}
