/** The account of a copy: the object that both sides of a delegation record (`workdir_snapshot`, `parent_workdir`). */

/** Why an entry was not copied. */
export type SkipReason = "fifo" | "socket" | "device" | "unreadable" | "runtime-owned";

export interface SkippedEntry {
  /** The path from the folder, separated by `/`. Bytes that are not UTF-8 appear as U+FFFD. */
  readonly path: string;
  readonly reason: SkipReason;
}

/** Its JSON is at most 32 KiB, because it is passed as an argument. */
export interface WorkdirSnapshot {
  /** The folder that was copied, as an absolute path. */
  readonly source: string;
  readonly files: number;
  /** Does not count the destination itself. */
  readonly dirs: number;
  /** All links, including the re-pointed ones. */
  readonly symlinks: number;
  /** The links whose absolute target was inside the folder. They now point inside the copy. */
  readonly repointed_symlinks: number;
  /** Bytes of file contents. */
  readonly bytes: number;
  readonly skipped_count: number;
  /** The first 64 in the order of the walk, or fewer if their paths are long. */
  readonly skipped: readonly SkippedEntry[];
}

export const SKIPPED_SAMPLES = 64;
export const SNAPSHOT_JSON_BYTES = 32 * 1024;

/** The counts of a copy in progress. */
export interface Account {
  files: number;
  dirs: number;
  symlinks: number;
  repointedSymlinks: number;
  bytes: number;
  skippedCount: number;
  readonly skipped: SkippedEntry[];
}

export function openAccount(): Account {
  return { files: 0, dirs: 0, symlinks: 0, repointedSymlinks: 0, bytes: 0, skippedCount: 0, skipped: [] };
}

const decoder = new TextDecoder();
/** The longest path that can be a sample. The JSON of a longer one alone would fill the limit. */
const SAMPLE_PATH_BYTES = SNAPSHOT_JSON_BYTES;

/** Counts an entry that is not copied. `names` is the path from the folder to the entry. */
export function skip(account: Account, names: () => Uint8Array[], reason: SkipReason): void {
  account.skippedCount++;
  if (account.skipped.length >= SKIPPED_SAMPLES) return;
  const parts: string[] = [];
  let bytes = 0;
  for (const name of names()) {
    bytes += name.length + 1;
    if (bytes > SAMPLE_PATH_BYTES) break;
    parts.push(decoder.decode(name));
  }
  account.skipped.push({ path: parts.join("/"), reason });
}

/** The finished object, with as many samples as fit. */
export function closeAccount(account: Account, source: string): WorkdirSnapshot {
  const { files, dirs, symlinks, bytes } = account;
  const whole = (skipped: readonly SkippedEntry[]): WorkdirSnapshot => ({
    source,
    files,
    dirs,
    symlinks,
    repointed_symlinks: account.repointedSymlinks,
    bytes,
    skipped_count: account.skippedCount,
    skipped,
  });
  let room = SNAPSHOT_JSON_BYTES - jsonBytes(whole([]));
  let fitting = 0;
  for (const entry of account.skipped) {
    // One more for the comma before it.
    room -= jsonBytes(entry) + 1;
    if (room < 0) break;
    fitting++;
  }
  return whole(account.skipped.slice(0, fitting));
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
