/** Why a launch failed. */

import { printable } from "../../printable.ts";
import type { LaunchFailureCause, LaunchOutcome, LaunchRequest } from "./outcome.ts";

export interface Failed {
  readonly cause: LaunchFailureCause;
  readonly message: string;
}

/** @param why follows a mention of the child */
export function failed(cause: LaunchFailureCause, { name, version }: LaunchRequest, why: string): Failed {
  // An error message of a store or of the system may quote anything.
  return { cause, message: printable(`could not launch ${name}@${version}: ${why}`) };
}

export function canceled(asked: LaunchRequest): Failed {
  return failed("canceled", asked, "the launch was given up");
}

export function failure(what: Failed): LaunchOutcome {
  return { kind: "failed", failure: what };
}
