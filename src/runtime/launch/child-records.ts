/** The records directory that a child reports on its readiness line. */

import { isAbsolute, join } from "node:path";
import { close, describeError, encodeName, statusOf } from "../posix.ts";
import { fault, ok, type Result } from "../result.ts";
import { type HeldDirectory, holdDirectory } from "../tree/held.ts";
import { openDescendant } from "../tree/own.ts";

const RECORDS = [".murmur", "records"];
/** Characters of a path that a fault quotes. */
const QUOTED = 512;

/**
 * Takes hold of the directory: it must lie beneath `~/.murmur/records`, end in the child's session id, be reached
 * without a link, and be this user's. A child whose directory is refused left no record and no result to be read.
 *
 * @param home the resolved home directory
 * @param reported `records_dir`, absent where the child reported none
 * @returns the fault is one sentence
 */
export function holdChildRecords(
  home: HeldDirectory,
  reported: string | undefined,
  sessionId: string,
): Result<HeldDirectory, string> {
  if (reported === undefined || reported === "") return fault("the child reported no records directory");
  // As a string of JSON, and cut: these are the child's own bytes, which may be anything.
  const quoted = JSON.stringify(reported.slice(0, QUOTED));
  const refused = (why: string) => fault(`the records directory that the child reported, ${quoted}, ${why}`);
  const steps = stepsBeneath(home.path, reported);
  if (!steps) return refused(`is not one beneath ${join(home.path, ...RECORDS)}`);
  if (steps.at(-1) !== sessionId) return refused("does not end in the child's session id");
  const names = [...RECORDS, ...steps];
  const opened = openDescendant(home.descriptor, names.map(encodeName));
  if (!opened.ok) {
    const { step, errno } = opened.fault;
    return refused(`could not be opened at ${JSON.stringify(names[step])}: ${describeError(errno)}`);
  }
  const status = statusOf(opened.value);
  if (status.ok && status.value.owner === process.geteuid?.())
    return ok(holdDirectory(reported, opened.value));
  close(opened.value);
  return refused("belongs to another user");
}

/** The names from `~/.murmur/records` down to `path`; `undefined` where it does not lie beneath, or is not plain. */
function stepsBeneath(home: string, path: string): string[] | undefined {
  const prefix = `${join(home, ...RECORDS)}/`;
  if (!isAbsolute(path) || !path.startsWith(prefix)) return undefined;
  const steps = path.slice(prefix.length).split("/");
  return steps.every((step) => step !== "" && step !== "." && step !== "..") ? steps : undefined;
}
