/**
 * A capsule that can be delegated to: it looks through its work folder, writes what it found to `out/result.txt`, and
 * ends. Its parent starts the compiled program in place of `mur`.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { announceReady, closeSession, describeRefusal, endWithSpawner, openSession } from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

// Reads what the parent passed: arguments, the approval on standard input, the handle and lifeline in the environment.
const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
const session = opened.value;

// When the parent's process ends, for whatever reason, this one ends too.
endWithSpawner(session, { kind: "script" });

// The work. The folder is a copy, so no change reaches the parent's folder.
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

// A script is ready when its work is done. Then it reports that to its parent and retires, which frees its slot at the daemon.
await announceReady(session);
await closeSession(session, "complete");
