/**
 * The records directory of a child: where it must be, found and held.
 *
 * The parent knows it without being told: it follows from the home, the child's work folder, which is fresh, and the
 * child's session. What the child reports is only compared with that.
 */

import { join, resolve } from "node:path";
import { printable } from "../../printable.ts";
import { close, type Descriptor, describeError, encodeName, statusOf } from "../posix.ts";
import { redactSaid } from "../redaction.ts";
import { fault, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { type HeldDirectory, holdDirectory } from "../tree/held.ts";
import { openDescendant } from "../tree/own.ts";

const RECORDS = [".murmur", "records"];
/** Characters of a path that a fault quotes. */
const QUOTED = 512;

/** What a child's records directory follows from. */
export interface ChildRecordsOf {
  /** The home as it is resolved. */
  readonly home: HeldDirectory;
  /** The home as its variable has it, which the child has too. */
  readonly homeAsGiven: string | undefined;
  /** The child's work folder, as it was handed to the child: absolute and resolved. */
  readonly workdir: string;
  /** The session that the child reported, one entry's name. */
  readonly sessionId: string;
  /** `records_dir`, absent where the child reported none. */
  readonly reported: string | undefined;
  /** What no fault may show of the report. */
  readonly secrets: readonly Secret[];
}

export interface ChildRecords {
  /** The directory, held. The fault is one sentence: there is no record and no result to be read. */
  readonly found: Result<HeldDirectory, string>;
  /** Once the child has ended: a directory that was not there yet may be now. */
  lookAgain(): void;
  /** Lets it go, and looks no further. */
  close(): void;
}

/** Looks for the directory. Where the child named another one than its own, nothing is ever opened. */
export function findChildRecords(of: ChildRecordsOf): ChildRecords {
  const refused = whyNotItsOwn(of);
  let found = refused === undefined ? holdOwn(of) : fault(refused);
  let looking = refused === undefined;
  return {
    get found() {
      return found;
    },
    lookAgain() {
      if (looking && !found.ok) found = holdOwn(of);
    },
    close() {
      looking = false;
      if (found.ok) found.value.close();
    },
  };
}

function whyNotItsOwn({ home, homeAsGiven, workdir, sessionId, reported, secrets }: ChildRecordsOf) {
  if (reported === undefined || reported === "") return "the child reported no records directory";
  const homes = homeAsGiven === undefined ? [] : [homeAsGiven.replace(/\/+$/, ""), resolve(homeAsGiven)];
  const own = namesOf(workdir, sessionId).join("/");
  if ([home.path, ...homes].some((one) => reported === `${one === "/" ? "" : one}/${own}`)) return undefined;
  // As a string of JSON, and cut: these are the child's own characters, which may be anything.
  const quoted = JSON.stringify(redactSaid(reported, secrets).slice(0, QUOTED));
  return printable(
    `the records directory that the child reported, ${quoted}, is not its own, ${join(home.path, own)}`,
  );
}

/** From the home down. */
function namesOf(workdir: string, sessionId: string): string[] {
  return [...RECORDS, ...workdir.split("/").filter((name) => name !== ""), sessionId];
}

/** The directory, reached without a link, and this user's. */
function holdOwn({ home, workdir, sessionId }: ChildRecordsOf): Result<HeldDirectory, string> {
  const names = namesOf(workdir, sessionId);
  const path = join(home.path, ...names);
  const opened = openDescendant(home.descriptor, names.map(encodeName));
  if (!opened.ok) {
    const { step, errno } = opened.fault;
    return fault(
      `the child's records directory, ${path}, could not be opened at ${JSON.stringify(names[step])}: ${describeError(errno)}`,
    );
  }
  if (isOwn(opened.value)) return ok(holdDirectory(path, opened.value));
  close(opened.value);
  return fault(`the child's records directory, ${path}, belongs to another user`);
}

function isOwn(directory: Descriptor): boolean {
  const status = statusOf(directory);
  return status.ok && status.value.owner === process.geteuid?.();
}
