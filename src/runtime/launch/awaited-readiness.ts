/** Waiting for a child's first line, which says that it is ready. */

import { fault, ok, type Result } from "../../result.ts";
import type { SpawnApproval } from "../client.ts";
import { within } from "../clock.ts";
import { parseReadiness, type Readiness } from "../contract/readiness.ts";
import type { RegisteredSession } from "../session/session.ts";
import type { ChildProcess } from "./child-process.ts";
import { describeExit } from "./exit-status.ts";
import { canceled, type Failed, failed } from "./failure.ts";
import type { LaunchRequest } from "./outcome.ts";

/** The time from starting the child process to its first line. */
export const LAUNCH_BOUND_MS = 180_000;
/** How much earlier the end of standard output may be seen than the end of the process. */
const EXIT_FOLLOWS_MS = 5_000;

interface Waiting {
  readonly session: RegisteredSession;
  readonly asked: LaunchRequest;
  readonly approval: SpawnApproval;
}

/** Returns what the line says, or why there is no valid line. Without one, the caller must end the child. */
export async function awaitReadiness(
  { session, asked, approval }: Waiting,
  process: ChildProcess,
): Promise<Result<Readiness, Failed>> {
  const giveUp = abortOf(asked.signal);
  const first = await within(
    session.clock,
    LAUNCH_BOUND_MS,
    Promise.race([process.firstLine, giveUp.aborted]),
  );
  giveUp.forget();
  if (first === "late") {
    return fault(
      failed("silent", asked, `it wrote no first line within ${LAUNCH_BOUND_MS / 1000} s of its start`),
    );
  }
  if (first.value === "aborted") return fault(canceled(asked));
  if (first.value.kind === "too-long") {
    return fault(failed("not-json", asked, "its first line is not a JSON object: it does not end"));
  }
  if (first.value.kind === "none") {
    const exit = await within(session.clock, EXIT_FOLLOWS_MS, process.exited);
    const how = exit === "late" ? "it closed its standard output" : `it ended (${describeExit(exit.value)})`;
    return fault(failed("ended", asked, `${how} without a first line`));
  }
  const readiness = parseReadiness(first.value.text, approval.approval);
  if (!readiness.ok) {
    return fault(failed(readiness.fault.kind, asked, `its first line ${readiness.fault.why}`));
  }
  const claimed = session.childSessions.claim(readiness.value.sessionId);
  if (!claimed.ok) return fault(failed("taken-session-id", asked, `its first line ${claimed.fault}`));
  return ok(readiness.value);
}

/** The abort as a promise. `forget` removes its listener. */
function abortOf(signal: AbortSignal | undefined): {
  readonly aborted: Promise<"aborted">;
  readonly forget: () => void;
} {
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const abort = () => resolve("aborted");
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return { aborted, forget: () => signal?.removeEventListener("abort", abort) };
}
