/** What a copy is said to hold: the object that both sides of a delegation record (`workdir_snapshot`, `parent_workdir`). */

/** Why an entry is not in the copy. */
export type SkipReason = "fifo" | "socket" | "device" | "unreadable" | "runtime-owned";

export interface SkippedEntry {
  /** From the folder, with `/` between; bytes that are no UTF-8 as U+FFFD. */
  readonly path: string;
  readonly reason: SkipReason;
}

/** Its JSON is at most 32 KiB, for it travels in an argument. */
export interface WorkdirSnapshot {
  /** The folder that was copied, absolute. */
  readonly source: string;
  readonly files: number;
  /** Without the destination itself. */
  readonly dirs: number;
  /** All of them, also the re-pointed ones. */
  readonly symlinks: number;
  /** Those whose absolute target lies inside the folder, and now inside the copy. */
  readonly repointed_symlinks: number;
  /** Of the files' contents. */
  readonly bytes: number;
  readonly skipped_count: number;
  /** The first 64 in the order of the walk, fewer where their paths are long. */
  readonly skipped: readonly SkippedEntry[];
}

export const SKIPPED_SAMPLES = 64;
export const SNAPSHOT_JSON_BYTES = 32 * 1024;

/** A copy's counts while it grows. */
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
/** Longer than this, no path can be a sample: its own JSON would be the whole bound. */
const SAMPLE_PATH_BYTES = SNAPSHOT_JSON_BYTES;

/** Counts an entry that is not copied. `names`: from the folder down to it. */
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

/** The finished object, with as many samples as its bound has room for. */
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
