/** One copy of a folder in progress: its task, how far it is, and how an entry is skipped. */

import { fault, ok, type Result } from "../../result.ts";
import { setMode, setModified } from "../../sys/content.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import type { Name } from "../../sys/entries.ts";
import type { Errno, Posix } from "../../sys/library.ts";
import type { Status } from "../../sys/status.ts";
import type { Descent } from "../tree/descent.ts";
import { type Account, type SkipReason, skip } from "./account.ts";
import type { Means } from "./content.ts";

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
  /** Names that are not copied at the top level, as text. */
  readonly ownedNames: readonly string[];
}

/** Why a copy was not completed. */
export type CopyFault =
  | { readonly kind: "ceiling" }
  | { readonly kind: "aborted" }
  /** What failed, as a participle, for which entry, and the error. */
  | { readonly kind: "failed"; readonly doing: Doing; readonly path: string; readonly errno: Errno };

export type Doing = "opened" | "listed" | "made" | "written" | "filled" | "finished" | "removed";

/** Called at every step with the progress. Returning `false` cancels the copy. */
export type Watch = (account: Account, bytesUnderWay: number) => boolean;

export interface Copy {
  readonly task: CopyTask;
  readonly watch: Watch;
  readonly account: Account;
  readonly source: Descent;
  readonly destination: Descent;
  readonly means: Map<number, Means>;
}

export const ABORTED: Result<never, CopyFault> = fault({ kind: "aborted" });

/** The permission bits that are copied: no setuid, setgid or sticky bit. */
const RWX = 0o777;
/** How many characters of a path a fault quotes. */
const QUOTED_PATH = 1024;
/** These errors say something about this process or machine, not about the entry. */
const NO_FAULT_OF_ENTRY: readonly Errno[] = ["EMFILE", "ENFILE", "ENOMEM"];

export function finish(descriptor: Descriptor, status: Status): Posix<void> {
  const set = setMode(descriptor, status.mode & RWX);
  return set.ok ? setModified(descriptor, status.modified) : set;
}

function pathOf(copy: Copy, names: readonly Name[]): Name[] {
  return [...copy.source.names(), ...names];
}

export function skipped(copy: Copy, name: Name, reason: SkipReason): Result<undefined, never> {
  skip(copy.account, () => pathOf(copy, [name]), reason);
  return ok(undefined);
}

/** Skips an entry that cannot be opened or read, has vanished, or has been replaced by another. */
export function unreadable(copy: Copy, name: Name, errno: Errno): Result<undefined, CopyFault> {
  if (NO_FAULT_OF_ENTRY.includes(errno)) return failed(copy, "opened", [name], errno);
  return skipped(copy, name, "unreadable");
}

export function failed(
  copy: Copy,
  doing: Doing,
  names: readonly Name[],
  errno: Errno,
): Result<never, CopyFault> {
  const path = Buffer.concat(pathOf(copy, names).flatMap((name) => [Buffer.from("/"), name])).toString();
  return fault({ kind: "failed", doing, path: path.slice(1, 1 + QUOTED_PATH), errno });
}
