/** Placeholder on plain paths until the directories module is there. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fault, ok, type Result } from "../result.ts";
import type { Session } from "../session/session.ts";

export interface ChildFolder {
  readonly path: string;
  remove(): void;
}
export interface WorkdirCopy {
  readonly source: string;
}
export function createChildFolder(session: Session, bare: string): Result<ChildFolder, string> {
  const path = join(
    session.folders.records,
    "children",
    `${bare}-${crypto.getRandomValues(Buffer.alloc(8)).toString("hex")}`,
  );
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return ok({ path, remove: () => rmSync(path, { recursive: true }) });
}
export async function copyWorkdir(
  _s: Session,
  _f: ChildFolder,
  _max: number,
  _signal?: AbortSignal,
): Promise<Result<WorkdirCopy, string>> {
  return fault("not there yet");
}
