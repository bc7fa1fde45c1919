/** One step of a plan: a capsule gets a task, and its whole answer goes to the next step. */

import {
  closeSession,
  describeRefusal,
  newId,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
  runCapsuleStep,
} from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
await using session = opened.value;

const name = parseArtifactName("local/counter");
const version = parseArtifactVersion("1.0.0");
if (!name || !version) refuse("no such capsule");
const task = "count the words of this task";
const contextId = newId("ctx");
// Aborting it cancels the step and ends its child.
const { signal } = new AbortController();

const outcome = await runCapsuleStep(session, { name, version, task, contextId, signal });
// outcome.kind: "completed", "timed_out", "failed", "refused" or "canceled"
// outcome.text: the whole answer, or why there is none; outcome.sentence: one line for a log
process.stdout.write(`${outcome.sentence}\n${outcome.text}\n`);

await closeSession(session, outcome.kind === "completed" ? "complete" : "failed");
