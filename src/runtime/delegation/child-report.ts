/** How a delegated capsule reports its own end. */

import type { Session } from "../session/session.ts";
import type { Report } from "./completion.ts";
import { postToDoor, reportCompletion } from "./report.ts";
import { hasResult, RESULT_PATH } from "./result-place.ts";

/** Records and posts the end. A capsule without a parent has nowhere to report to, and writes no record. */
export async function reportOwnEnd(
  session: Session,
  end: Pick<Report, "status" | "detail" | "durationMs">,
): Promise<void> {
  const { spawner, run, directories } = session;
  if (!spawner) return;
  const { path, descriptor } = directories.records;
  await reportCompletion({
    identity: {
      name: run.name,
      version: run.version,
      delegationId: spawner.delegationId,
      sessionId: session.id,
      workdir: directories.workdir.path,
    },
    report: {
      ...end,
      reportedBy: "child",
      ...(hasResult(descriptor) && { resultPath: `${path}/${RESULT_PATH}` }),
    },
    records: descriptor,
    post: postToDoor(spawner, session.clock),
    diagnose: session.diagnose,
  });
}
