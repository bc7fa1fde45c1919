/**
 * The session ids that a session's children go by: each its own. Records and result of a child are looked for under its
 * id, so one that goes by another's would have that session's files read and written as its own. An id is taken for as
 * long as this process runs: what a child that is gone left behind is still its own.
 */

import { fault, ok, type Result } from "../../result.ts";

export interface ChildSessions {
  /** Takes the id that a child reported. The fault is a phrase that says whose it is, and follows "its first line ". */
  claim(id: string): Result<undefined, string>;
}

/** @param spawner the session that started this one, where one did */
export function createChildSessions(own: string, spawner: string | undefined): ChildSessions {
  const taken = new Set<string>();
  return {
    claim(id) {
      const whose = id === own ? "this capsule" : id === spawner ? "this capsule's spawner" : undefined;
      const other = whose ?? (taken.has(id) ? "another child of this capsule" : undefined);
      if (other !== undefined) {
        return fault(`names the session of ${other}, ${id}; a child must report an id that it minted itself`);
      }
      taken.add(id);
      return ok(undefined);
    },
  };
}
