/** What the daemon needs from its host. Each check returns a fault, or `undefined`. */

import { statSync } from "node:fs";
import { constants } from "node:os";
import { describeErrno, describeOsError } from "./os-error.ts";
import { threadsToBeHad } from "./sys/this-process.ts";

/**
 * Why the runtime could not get all the threads it may need later, for its collector, its compiler and its pool. It ends
 * the process if it cannot start one, so the daemon checks at its start.
 */
export function threadsFault(cores: number): string | undefined {
  const wanted = 7 + Math.min(cores, 8);
  const had = threadsToBeHad(wanted);
  if (had >= wanted) return undefined;
  return `cannot start: this process may have ${had} threads, and it needs ${wanted}; raise the limit of processes for its user (ulimit -u, or TasksMax of its unit)`;
}

/** Why a path is not a directory: the path, and the OS error. */
export function directoryFault(path: string): string | undefined {
  try {
    if (statSync(path).isDirectory()) return undefined;
    return `${path}: ${describeErrno("ENOTDIR", constants.errno.ENOTDIR)}`;
  } catch (error) {
    return `${path}: ${describeOsError(error)}`;
  }
}
