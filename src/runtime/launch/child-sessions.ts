/**
 * The session ids of a session's children. Each child must have its own. A child's records and result are looked up by
 * its id, so a child that reported another session's id could have that session's files read and written as its own. An
 * id stays taken for as long as this process runs, because what a child left behind still belongs to that child.
 */

import { fault, ok, type Result } from "../../result.ts";

export interface ChildSessions {
  /** Takes the id that a child reported. The fault is a phrase that says who has it, and follows "its first line ". */
  claim(id: string): Result<undefined, string>;
}

/** @param spawner the session that started this one, if there is one */
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
