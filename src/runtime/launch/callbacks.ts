/** The functions that a caller hands to a launch: whatever they throw, the launch goes on. */

import type { LaunchRequest } from "./outcome.ts";

/** The same request; what one of its functions throws, or rejects with, is one line for the operator. */
export function withoutThrowing(asked: LaunchRequest, diagnose: (line: string) => void): LaunchRequest {
  const { onStarted, onProgress } = asked;
  return {
    ...asked,
    ...(onStarted && { onStarted: guarded("onStarted", onStarted, diagnose) }),
    ...(onProgress && { onProgress: guarded("onProgress", onProgress, diagnose) }),
  };
}

function guarded<T>(name: string, call: (value: T) => void, diagnose: (line: string) => void) {
  const complain = (error: unknown) =>
    diagnose(`warning: ${name} of a launch failed: ${error instanceof Error ? error.message : error}`);
  return (value: T) => {
    try {
      // A function that returns a promise is one that returns nothing, to the types.
      const returned: unknown = call(value);
      if (returned instanceof Promise) returned.catch(complain);
    } catch (error) {
      complain(error);
    }
  };
}
