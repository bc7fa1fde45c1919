/** Hearing of a delegation's completions before its child is gone. */

import type { CompletionDoor } from "./door.ts";

export interface Arrivals {
  /** Calls `listener` at each completion from now on, and at once where one came before. */
  listen(listener: () => void): void;
}

/** From now on the door receives completions of this delegation. */
export function awaitCompletions(door: CompletionDoor, delegationId: string): Arrivals {
  let any = false;
  let listener = () => {};
  door.await(delegationId, () => {
    any = true;
    listener();
  });
  return {
    listen(told) {
      listener = told;
      if (any) told();
    },
  };
}
