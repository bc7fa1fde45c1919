/** What to change, in words: narrowing edits first, and then what widening would take. */

import type { Change, Edit, Formation } from "../schema.ts";
import { kindOf } from "./kinds.ts";
import { entriesText, entryText, type Paint } from "./paint.ts";

export function* changeLines({ changes }: Formation, paint: Paint): Generator<string, void> {
  if (changes.length === 0) return;
  yield paint("strong", "What to change (each edit is enough for its line; edits that narrow come first):");
  let previous: Change | undefined;
  for (const change of changes) {
    if (previous?.parent !== change.parent || previous.child !== change.child) {
      yield `  ${paint(undefined, `${entryText(change.child)}, started by ${change.parent}`)}`;
    }
    previous = change;
    yield `    ${paint(undefined, change.key)}`;
    for (const [index, edit] of change.edits.entries()) {
      yield `      ${paint("faint", index === 0 ? "-" : "or")} ${paint(undefined, editText(edit, change.key))}`;
    }
  }
}

/** One edit, with the file and the key. */
function editText(edit: Edit, axis: string): string {
  const { capsule, file, key, action, effect } = edit;
  const where = `${file} of ${capsule}: ${key}`;
  const values = entriesText(kindOf(axis), edit.values);
  const isAsked = effect !== "widens";
  switch (action) {
    case "drop":
      return `${where}: drop ${values}`;
    case "set":
      return isAsked ? `${where}: set it to ${values}` : `${where} would have to be ${values}`;
    case "list":
      return `${where} would have to list ${values}`;
    case "cover":
      return `${where} would have to be ${values} or a directory above it`;
    case "unset":
      return `${where} would have to go, for the whole workdir`;
    case "publish":
      return `the registry: publish a sound ${capsule}`;
    case "publish-any":
      return `the registry: publish a version of ${capsule}`;
    case "withdraw":
      return `the registry: take ${capsule} out`;
    default:
      return action satisfies never;
  }
}
