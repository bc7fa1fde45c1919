/**
 * Paths that stay what the kernel takes them for. Behind a symbolic link `..` is the parent of the link's target, so a path
 * that is to be opened keeps its `..`. `join` and `resolve` of `node:path` remove it by text, and name another file.
 */

import { isAbsolute, resolve } from "node:path";

/** The absolute path of what `path` names from a folder whose own path has no link in it, such as the current one. */
export function absolutePath(path: string, from = process.cwd()): string {
  if (isAbsolute(path)) return pathBelow(path);
  const names = namesIn(path);
  const first = names.findIndex((name) => name !== "..");
  // A `..` at the beginning may be removed from the folder's path.
  const up = names.splice(0, first === -1 ? names.length : first);
  return pathBelow(resolve(from, ...up), ...names);
}

/** The path of these names below a folder. */
export function pathBelow(folder: string, ...names: readonly string[]): string {
  const path = namesIn([folder, ...names].join("/")).join("/");
  return isAbsolute(folder) ? `/${path}` : path;
}

/** Without those that change nothing. */
function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
