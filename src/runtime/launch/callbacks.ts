/** The functions that a caller passes to a launch. The launch continues whatever they throw. */

import type { LaunchRequest } from "./outcome.ts";

/** The same request, with safe functions: if one throws or rejects, the operator gets one line. */
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
      // The types allow a function that returns a promise where one that returns nothing is expected.
      const returned: unknown = call(value);
      if (returned instanceof Promise) returned.catch(complain);
    } catch (error) {
      complain(error);
    }
  };
}
