/** Hearing of a delegation's completion before its child is gone. */

import type { CompletionDoor } from "./door.ts";

/** What can happen to a delegation next. */
export type Next =
  | { readonly kind: "exited" }
  | { readonly kind: "end"; readonly reason: string }
  | { readonly kind: "deadline" }
  | { readonly kind: "arrived" };

/** Hints that a completion arrived. */
export interface Arrival {
  /** Whether any came. */
  readonly any: () => boolean;
  next(): Promise<Next>;
  /** The last hint was a false one: waits for the next. */
  again(): void;
}

/** From now on the door receives completions of this delegation. */
export function awaitCompletion(door: CompletionDoor, delegationId: string): Arrival {
  let any = false;
  let hint = Promise.withResolvers<Next>();
  door.await(delegationId, () => {
    any = true;
    hint.resolve({ kind: "arrived" });
  });
  return {
    any: () => any,
    next: () => hint.promise,
    again() {
      hint = Promise.withResolvers<Next>();
    },
  };
}
