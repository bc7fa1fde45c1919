/**
 * A capsule that can be delegated to: it looks through the work folder it starts with, leaves what it found in
 * `out/result.txt`, and ends. Compiled, it is what its parent starts in the place of `mur`.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { announceReady, closeSession, describeRefusal, endWithSpawner, openSession } from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

// What the parent said: arguments, the approval on standard input, the handle and the lifeline in the environment.
const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
const session = opened.value;

// When the parent's process ends by any means, so does this one.
endWithSpawner(session, { kind: "script" });

// The work: everything here is this child's own, and nothing of it reaches the parent's folder.
const workdir = session.directories.workdir.path;
const files = readdirSync(workdir, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const open = files.flatMap((file) => readFileSync(file, "utf8").match(/TODO.*/g) ?? []);
for (const file of files) writeFileSync(file, readFileSync(file, "utf8").replaceAll("TODO", "DONE"));
mkdirSync(join(workdir, "out"));
writeFileSync(
  join(workdir, "out", "result.txt"),
  `${files.length} files, ${open.length} left to do:\n${open.join("\n")}\n`,
);

// A script is ready when its run has finished; then it retires, which frees its slot at the daemon.
await announceReady(session);
await closeSession(session, "complete");
