/**
 * Finds the records directory of a child, and holds it.
 *
 * The parent need not be told where it is. The path follows from the home, the child's work folder, which is new, and
 * the child's session. What the child reports is only compared with that path.
 */

import { join, resolve } from "node:path";
import { printable } from "../../printable.ts";
import { fault, ok, type Result } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { encodeName } from "../../sys/entries.ts";
import { describeError } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import { redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { type HeldDirectory, holdDirectory, openDescendant } from "../tree/held.ts";

const RECORDS = [".murmur", "records"];
/** How many characters of a path a fault quotes. */
const QUOTED = 512;

/** What determines the path of a child's records directory. */
export interface ChildRecordsOf {
  /** The home, resolved. */
  readonly home: HeldDirectory;
  /** The home as its variable spells it. The child has the same value. */
  readonly homeAsGiven: string | undefined;
  /** The child's work folder, as the child was given it: absolute and resolved. */
  readonly workdir: string;
  /** The session that the child reported: the name of one entry. */
  readonly sessionId: string;
  /** `records_dir`. Absent if the child reported none. */
  readonly reported: string | undefined;
  /** What a fault must not show of the report. */
  readonly secrets: readonly Secret[];
}

export interface ChildRecords {
  /** The directory, held. The fault is one sentence: no record and no result can be read. */
  readonly found: Result<HeldDirectory, string>;
  /** Call it once the child has ended. A directory that did not exist before may exist now. */
  lookAgain(): void;
  /** Lets go of the directory and stops looking for it. */
  close(): void;
}

/** Looks for the directory. If the child named a directory other than its own, nothing is ever opened. */
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
  // Quoted as a JSON string and cut, because the child chose these characters.
  const quoted = JSON.stringify(redactSaid(reported, secrets).slice(0, QUOTED));
  return printable(
    `the records directory that the child reported, ${quoted}, is not its own, ${join(home.path, own)}`,
  );
}

/** Finds the directory, starting from the home. */
function namesOf(workdir: string, sessionId: string): string[] {
  return [...RECORDS, ...workdir.split("/").filter((name) => name !== ""), sessionId];
}

/** Opens the directory without following a link. It must belong to this user. */
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
