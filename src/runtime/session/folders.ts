/** Placeholder on plain paths until the directories module is there. */
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result } from "../result.ts";

export interface Roots {
  readonly home: string;
  readonly workdir: string;
}
export interface SessionFolders extends Roots {
  readonly records: string;
  readonly runtime: string;
  removeRuntime(): void;
}
export function resolveRoots(home: string | undefined, workdir: string): Result<Roots, string> {
  return ok({ home: realpathSync(home ?? ""), workdir: realpathSync(workdir) });
}
export function createSessionFolders(roots: Roots, id: string): Result<SessionFolders, string> {
  const records = join(roots.home, ".murmur", "records", roots.workdir, id);
  const runtime = join(roots.home, ".murmur", "sessions", id, "runtime");
  mkdirSync(join(records, "logs"), { recursive: true, mode: 0o700 });
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  return ok({ ...roots, records, runtime, removeRuntime: () => rmSync(runtime, { recursive: true }) });
}
