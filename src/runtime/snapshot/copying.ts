/** One copy of a folder while it is made: what it is to do, where it stands, and how an entry is left out. */

import { fault, ok, type Result } from "../../result.ts";
import { setMode, setModified } from "../../sys/attributes.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import type { Errno, Posix } from "../../sys/errors.ts";
import type { Name } from "../../sys/names.ts";
import type { Status } from "../../sys/status.ts";
import type { Descent } from "../tree/descent.ts";
import { type Account, type SkipReason, skip } from "./account.ts";
import type { Means } from "./content.ts";

export interface CopyTask {
  readonly from: Descriptor;
  /** Empty; its own mode and time are left as they are. */
  readonly to: Descriptor;
  /** The paths that name the folder, and the one that names the copy: what links are re-pointed by. */
  readonly fromPaths: readonly Uint8Array[];
  readonly toPath: Uint8Array;
  /** Bytes of content at most. */
  readonly ceiling: number;
  /** Directories that are not copied, by identity, wherever they lie. */
  readonly ownedDirectories: ReadonlySet<string>;
  /** Names that are not copied at the top level, as texts. */
  readonly ownedNames: readonly string[];
}

/** Why a copy was not finished. */
export type CopyFault =
  | { readonly kind: "ceiling" }
  | { readonly kind: "aborted" }
  /** What could not be done, as a participle, to which entry, and the error. */
  | { readonly kind: "failed"; readonly doing: Doing; readonly path: string; readonly errno: Errno };

export type Doing = "opened" | "listed" | "made" | "written" | "filled" | "finished" | "removed";

/** Told at every step how far the copy is; `false` gives it up. */
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

/** The permission bits that are copied: no setuid, no setgid, no sticky bit. */
const RWX = 0o777;
/** Of a path that a fault names. */
const QUOTED_PATH = 1024;
/** These say something of this process or machine, not of the entry. */
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

/** An entry that cannot be opened or read, has vanished, or is another by now. */
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
