/** Copies a symbolic link, and says where it points in the copy (API page, "Workdir snapshot"). */

import { ok } from "../../result.ts";
import type { Descriptor } from "../../sys/descriptors.ts";
import { makeLinkAt, type Name, readLinkAt } from "../../sys/entries.ts";
import { type Copied, type Copy, failed, skipped, unreadable } from "./account.ts";

export function copyLink(copy: Copy, from: Descriptor, to: Descriptor, name: Name): Copied {
  const { fromPaths, toPath } = copy.task;
  const target = readLinkAt(from, name);
  if (!target.ok) return unreadable(copy, name, target.fault);
  let moved: Uint8Array | undefined;
  for (const path of fromPaths) moved ??= repoint(target.value, path, toPath);
  const made = makeLinkAt(moved ?? target.value, to, name);
  // Pointed into the copy, a target can become too long. The link must not point to the parent's folder instead.
  if (!made.ok && moved && made.fault === "ENAMETOOLONG") return skipped(copy, name, "unreadable");
  if (!made.ok) return failed(copy, "made", [name], made.fault);
  copy.account.symlinks++;
  if (moved) copy.account.repointed_symlinks++;
  return ok(undefined);
}

const SLASH = 0x2f;

/**
 * The target of a link in the copy. An absolute path inside `folder` becomes the same place in `copy`. For any other
 * target this is `undefined`, and the link stays as it is.
 *
 * Only the text is used. Nothing is looked up, so nothing is followed. `.` and doubled slashes are ignored, and `..` is
 * a step up, except where both paths begin with the same steps. The part after the folder is kept as it was written.
 */
export function repoint(target: Uint8Array, folder: Uint8Array, copy: Uint8Array): Uint8Array | undefined {
  if (target[0] !== SLASH) return undefined;
  const steps = stepsOf(target);
  const inside = stepsInto(steps, stepsOf(folder));
  if (inside === undefined) return undefined;
  const rest = steps.slice(inside);
  if (rest.length > 0 && target.at(-1) === SLASH) rest.push("");
  const below = rest.map((step) => `/${step}`).join("");
  return new Uint8Array(Buffer.concat([copy, Buffer.from(below, "latin1")]));
}

/** In Latin-1 every byte is one character, so names that are not UTF-8 stay what they are. */
function stepsOf(path: Uint8Array): string[] {
  const steps = Buffer.from(path).toString("latin1").split("/");
  return steps.filter((step) => step !== "" && step !== ".");
}

/** How many of a path's steps are needed to reach the root for the last time, if no later step leaves it again. */
function stepsInto(steps: readonly string[], root: readonly string[]): number | undefined {
  // The root itself may be written with a `..`, as in `/link/../work`.
  const begins = root.every((part, index) => steps[index] === part);
  const at = begins ? [...root] : [];
  let inside = begins ? root.length : undefined;
  for (let index = at.length; index < steps.length; index++) {
    const step = steps[index] ?? "";
    if (step !== "..") at.push(step);
    else at.pop();
    if (root.some((part, depth) => at[depth] !== part)) inside = undefined;
    else inside ??= index + 1;
  }
  return inside;
}
