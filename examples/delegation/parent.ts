/**
 * A capsule that delegates: it registers at the daemon, starts a reviewer in a copy of its work folder, waits
 * for it to end, and reads its result.
 *
 *     MURMUR_ROOST_URL=http://127.0.0.1:7700 MURMUR_MUR_BINARY=<child> bun parent.ts run \
 *       --capsule local/lead --capsule-version 1.0.0 --workdir <folder>
 */

import {
  canDelegate,
  closeSession,
  describeExit,
  describeRefusal,
  endWithSpawner,
  launch,
  newId,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
  readChildFile,
} from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

const show = (bytes: Uint8Array) => void process.stdout.write(bytes);
const say = (text: string) => show(Buffer.from(`${text}\n`));

const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
// The session is closed when this block ends. It counts as failed, unless closeSession was called before.
await using session = opened.value;
if (!canDelegate(session)) refuse("capabilities.spawn.allow is empty: there is nobody to delegate to");
endWithSpawner(session, { kind: "script" });

const name = parseArtifactName("local/reviewer");
const version = parseArtifactVersion("1.0.0");
if (!name || !version) refuse("no such capsule");
const outcome = await launch(session, { name, version, contextId: newId("ctx") });
switch (outcome.kind) {
  case "refused":
    say(outcome.sentence);
    break;
  case "failed":
    say(outcome.failure.message);
    break;
  case "launched": {
    using child = outcome.child;
    say(`${child.delegationId} runs as ${child.sessionId} in ${child.workdir.path}`);
    say(`it ended: ${describeExit(await child.exited)}`);
    await readChildFile(child.workdir, ["out", "result.txt"], { onChunk: show });
  }
}
await closeSession(session, outcome.kind === "launched" ? "complete" : "failed");
