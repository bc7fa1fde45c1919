/** Listening for a delegation's completions while its child still runs. */

import type { CompletionDoor } from "./door.ts";

export interface Arrivals {
  /** Calls `listener` at each completion from now on, and at once if one has already arrived. */
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
