/** Placeholder on plain paths until the directories module is there. */
import { mkdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { directorySuffix } from "../identifiers.ts";
import { ok, type Result } from "../result.ts";
import { hold } from "../session/folders.ts";
import type { Session } from "../session/session.ts";
import type { WorkdirSnapshot } from "../snapshot/account.ts";
import { snapshotWorkdir } from "../snapshot/snapshot.ts";
import type { SnapshotProgress } from "../snapshot/thread.ts";
import type { HeldDirectory } from "../tree/held.ts";

export interface ChildFolder {
  readonly held: HeldDirectory;
  remove(): void;
}
export function createChildFolder(session: Session, bare: string): Result<ChildFolder, string> {
  const path = join(session.folders.records.path, "children", `${bare}-${directorySuffix()}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const held = hold(path);
  if (!held.ok) return held;
  return ok({ held: held.value, remove: () => rmSync(path, { recursive: true }) });
}

/** Copies the session's work folder into a child's; the fault is a phrase that follows a mention of the child. */
export async function copyWorkdir(
  { folders, run }: Session,
  destination: HeldDirectory,
  ceilingBytes: number,
  more: { readonly signal?: AbortSignal; readonly onProgress?: (progress: SnapshotProgress) => void },
): Promise<Result<WorkdirSnapshot, string>> {
  const copied = await snapshotWorkdir({
    source: folders.workdir,
    ...(isAbsolute(run.workdir) && { sourceAlias: run.workdir }),
    destination,
    ceilingBytes,
    runtimeOwned: [folders.runtime, folders.records],
    ...(more.signal && { signal: more.signal }),
    ...(more.onProgress && { onProgress: more.onProgress }),
  });
  return copied.ok ? copied : { ok: false, fault: copied.fault.message };
}
