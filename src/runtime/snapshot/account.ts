/** A copy of a folder in progress: its task, its account, and what becomes of an entry or a copy that fails. */

import { fault, ok, type Result } from "../../result.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import { encodeName, type Name } from "../../sys/entries.ts";
import type { Errno } from "../../sys/library.ts";
import type { Descent } from "../tree/descent.ts";

/** Why an entry was not copied. */
type SkipReason = "fifo" | "socket" | "device" | "unreadable" | "runtime-owned";

interface SkippedEntry {
  /** The path from the folder, separated by `/`. Bytes that are not UTF-8 appear as U+FFFD. */
  readonly path: string;
  readonly reason: SkipReason;
}

/**
 * The account of a copy: the object that both sides of a delegation record (`workdir_snapshot`, `parent_workdir`). Its
 * JSON is at most 32 KiB, because it is passed as an argument.
 */
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

/** The progress of a copy. The bytes include those of the file in progress. */
export type SnapshotProgress = Pick<WorkdirSnapshot, "files" | "dirs" | "symlinks" | "bytes">;

type Counts = Omit<WorkdirSnapshot, "source" | "skipped">;
/** The account of a copy that is not complete. */
export type Account = { -readonly [Count in keyof Counts]: number } & { readonly skipped: SkippedEntry[] };

const SKIPPED_SAMPLES = 64;
const SNAPSHOT_JSON_BYTES = 32 * 1024;

export function openAccount(): Account {
  return { files: 0, dirs: 0, symlinks: 0, repointed_symlinks: 0, bytes: 0, skipped_count: 0, skipped: [] };
}

/** A byte order mark is part of a name. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Counts an entry that is not copied. `names` is the path from the folder to the entry. An entry whose path is longer
 * than the limit for the whole account is counted but not named.
 */
export function skip(account: Account, names: () => Name[], reason: SkipReason): void {
  account.skipped_count++;
  if (account.skipped.length >= SKIPPED_SAMPLES) return;
  const parts: string[] = [];
  let bytes = 0;
  for (const name of names()) {
    bytes += name.length + 1;
    if (bytes > SNAPSHOT_JSON_BYTES) return;
    parts.push(decoder.decode(name));
  }
  account.skipped.push({ path: parts.join("/"), reason });
}

/** The finished object, with as many samples as fit. */
export function closeAccount(account: Account, source: string): WorkdirSnapshot {
  const skipped: SkippedEntry[] = [];
  const snapshot: WorkdirSnapshot = { source, ...account, skipped };
  let room = SNAPSHOT_JSON_BYTES - jsonBytes(snapshot);
  for (const entry of account.skipped) {
    // One more for the comma before it.
    room -= jsonBytes(entry) + 1;
    if (room < 0) break;
    skipped.push(entry);
  }
  return snapshot;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** What the runtime itself writes at the top level of a work folder. It is not copied. */
export const OWNED_NAMES = ["peer-in", "out"].map(encodeName);

export interface CopyTask {
  readonly from: Descriptor;
  /** The destination, which is empty. Its own mode and time are left as they are. */
  readonly to: Descriptor;
  /** The paths that name the folder, and the one that names the copy. Links are re-pointed by them. */
  readonly fromPaths: readonly Uint8Array[];
  readonly toPath: Uint8Array;
  /** The most bytes of content to copy. */
  readonly ceiling: number;
  /** Directories that are not copied, by identity, wherever they are. */
  readonly ownedDirectories: ReadonlySet<string>;
}

/** Why a copy was not completed. */
export type CopyFault =
  | { readonly kind: "ceiling" }
  | { readonly kind: "aborted" }
  /** What failed, as a participle, for which entry, and the error. */
  | { readonly kind: "failed"; readonly doing: Doing; readonly path: string; readonly errno: Errno };

type Doing = "opened" | "listed" | "made" | "written" | "filled" | "finished" | "removed";

/** What copying an entry, or all of them, came to. */
export type Copied<T = undefined> = Result<T, CopyFault>;

/**
 * How the files of one file system can be copied to the destination's. A way that was refused once is not tried again.
 */
export interface Means {
  clone: boolean;
  withinKernel: boolean;
}

export interface Copy {
  readonly task: CopyTask;
  readonly account: Account;
  /** Asked at every step, with what was copied of the file in progress. `false` cancels the copy. */
  readonly goOn: (bytesUnderWay: number) => boolean;
  readonly source: Descent;
  readonly destination: Descent;
  /** By the device of the source. */
  readonly means: Map<number, Means>;
}

export const ABORTED: Copied<never> = fault({ kind: "aborted" });

/** How many characters of a path a fault quotes. */
const QUOTED_PATH = 1024;
/** These errors say something about this process or machine, not about the entry. */
const NO_FAULT_OF_ENTRY: readonly Errno[] = ["EMFILE", "ENFILE", "ENOMEM"];

function pathOf(copy: Copy, names: readonly Name[]): Name[] {
  return [...copy.source.names(), ...names];
}

export function skipped(copy: Copy, name: Name, reason: SkipReason): Result<undefined, never> {
  skip(copy.account, () => pathOf(copy, [name]), reason);
  return ok(undefined);
}

/** Skips an entry that cannot be opened or read, has vanished, or has been replaced by another. */
export function unreadable(copy: Copy, name: Name, errno: Errno): Copied {
  if (NO_FAULT_OF_ENTRY.includes(errno)) return failed(copy, "opened", [name], errno);
  return skipped(copy, name, "unreadable");
}

export function failed(copy: Copy, doing: Doing, names: readonly Name[], errno: Errno): Copied<never> {
  const path = Buffer.concat(pathOf(copy, names).flatMap((name) => [Buffer.from("/"), name])).toString();
  return fault({ kind: "failed", doing, path: path.slice(1, 1 + QUOTED_PATH), errno });
}
