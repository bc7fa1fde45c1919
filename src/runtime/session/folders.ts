/** Placeholder on plain paths until the directories module is there. */
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { openDirectoryPath } from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import { type HeldDirectory, holdDirectory } from "../tree/held.ts";

export interface Roots {
  readonly home: string;
  readonly workdir: string;
}
export interface SessionFolders {
  readonly home: string;
  readonly workdir: HeldDirectory;
  readonly records: HeldDirectory;
  readonly runtime: HeldDirectory;
  removeRuntime(): void;
}
export function resolveRoots(home: string | undefined, workdir: string): Result<Roots, string> {
  try {
    if (!isAbsolute(home ?? "")) return fault("HOME is not an absolute path");
    return ok({ home: realpathSync(home ?? ""), workdir: realpathSync(workdir) });
  } catch (error) {
    return fault(`HOME or --workdir: ${String(error)}`);
  }
}
export function hold(path: string): Result<HeldDirectory, string> {
  const opened = openDirectoryPath(path);
  return opened.ok ? ok(holdDirectory(path, opened.value)) : opened;
}
export function createSessionFolders(roots: Roots, id: string): Result<SessionFolders, string> {
  const recordsPath = join(roots.home, ".murmur", "records", roots.workdir, id);
  const runtimePath = join(roots.home, ".murmur", "sessions", id, "runtime");
  mkdirSync(join(recordsPath, "logs"), { recursive: true, mode: 0o700 });
  mkdirSync(runtimePath, { recursive: true, mode: 0o700 });
  const workdir = hold(roots.workdir);
  const records = hold(recordsPath);
  const runtime = hold(runtimePath);
  if (!workdir.ok) return workdir;
  if (!records.ok) return records;
  if (!runtime.ok) return runtime;
  return ok({
    home: roots.home,
    workdir: workdir.value,
    records: records.value,
    runtime: runtime.value,
    removeRuntime: () => rmSync(runtimePath, { recursive: true }),
  });
}
