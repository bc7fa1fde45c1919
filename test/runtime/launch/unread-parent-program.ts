/**
 * A parent whose child writes more than the parent's own standard streams take. As long as its event loop runs, the parent
 * counts in the file `marks` of its work folder.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  canDelegate,
  endAll,
  launch,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
} from "../../../src/runtime/index.ts";
import { patientClock } from "../../kit/patient-clock.ts";

const opened = await openSession();
if (!opened.ok || !canDelegate(opened.value)) throw new Error(JSON.stringify(opened));
const session = opened.value;
const name = parseArtifactName("local/worker");
const version = parseArtifactVersion("0.1.0");
if (!name || !version) throw new Error("no capsule");
const outcome = await launch(session, { name, version, contextId: "ctx_unread" });
if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));

let marks = 0;
setInterval(() => writeFileSync(join(session.directories.workdir.path, "marks"), String(++marks)), 10);
process.on("SIGTERM", async () => {
  await endAll([outcome.child], patientClock);
  process.exit(0);
});
