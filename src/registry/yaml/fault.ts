/** The forms that are refused, each with what to write instead. No sentence quotes the text. */

import { MAX_NESTING } from "./tree.ts";

/** The longest key, in characters up to its `:`. Readers look no further ahead. */
export const MAX_KEY_LENGTH = 1024;

/** Each form that is refused: what it is, and what to do instead. */
export const REFUSED = {
  alias: ["an alias (*…)", "write the value out in each place that needs it"],
  anchor: ["an anchor (&…)", "write the value out in each place that needs it"],
  backtick: ["a text that begins with a backtick", "put it in quotes"],
  atSign: ["a text that begins with @", "put it in quotes"],
  blankLineTooDeep: [
    "an empty line with too many spaces at the start of a block of text",
    "take the spaces out of it",
  ],
  blockIndicator: [
    "a block of text with an indentation number",
    "leave the number out, and begin the block with its least indented line",
  ],
  blockInFlow: ["a block of text inside brackets", "write it in double quotes"],
  blockUnderKey: ["| or > on a line of its own", "write it after its key or dash"],
  blockUnfinished: [
    "a block of text without a line break at the end of the file",
    "end the file with a line break",
  ],
  collectionAsKey: ["a list or a mapping used as a key", "use a text as the key"],
  commaMissing: [
    "no comma between two values in brackets",
    "put a comma there; a text stays on one line, and in quotes if it holds brackets",
  ],
  dashBesideKeys: ["a list entry where a key should stand", "indent the list, or write a key"],
  dashAfterKey: ["a list entry on the line of its key", "begin the list on the next line"],
  dashInFlow: ["a dash used as a list entry inside brackets", "separate the values with commas"],
  deeper: ["a line that is indented deeper than its neighbours", "align it with them"],
  directive: ["a directive (%…)", "remove it, or put a text that begins with % in quotes"],
  emptyEntry: ["a comma with nothing before it", "remove the comma"],
  emptyKey: ["a key with no text", "name the key"],
  escape: [
    "an escape that not every reader knows",
    "use \\\\, \\\", \\n, \\t, \\xNN, \\uNNNN or \\UNNNNNNNN with a character's code",
  ],
  keyWithoutColon: ["a key without a colon and a space on its line", "write `key: value`"],
  keyTooLong: [`a key longer than ${MAX_KEY_LENGTH} characters`, "shorten the key"],
  listUnaligned: ["a line without a dash among list entries", "begin it with a dash, or align it with a key"],
  mergeKey: ["a merge key (<<)", "write the keys out where they are needed"],
  nesting: [`nested deeper than ${MAX_NESTING} levels`, "take some levels out"],
  notClosed: ["a bracket that is never closed", "close it"],
  pairInList: ["`key: value` in a list in brackets", "put braces around it: {key: value}"],
  colonInText: ["a colon and a space inside a text", "put the text in quotes"],
  colonFirst: ["a text that begins with a colon", "put it in quotes, or write the key before it"],
  colonInFlow: [
    "a colon before a bracket, a comma or a question mark",
    "put a space after it, or the text in quotes",
  ],
  quotedOverLines: ["a quoted text over several lines", "write it on one line, or as a | block"],
  questionMark: ["? as a sign for a key", "write `key: value`, or put a text that begins with ? in quotes"],
  secondDocument: ["more than one document", "keep one, with no --- or ... after its start"],
  secondTime: ["a key for the second time in one mapping", "keep one of them"],
  shallowFlow: ["a line inside brackets that is not indented", "indent it deeper than the line of its key"],
  strayBracket: ["a bracket or a comma where a value should begin", "remove it, or put the text in quotes"],
  tab: ["a tab outside of comments, quotes and blocks of text", "use spaces"],
  tabInBlock: ["a tab where a block of text begins or is indented", "use spaces"],
  tag: ["a tag (!…)", "remove it, or put a text that begins with ! in quotes"],
  textAfterValue: ["text after a value", "put one value on the line, and a space before a comment's #"],
  textAfterMarker: ["text on the line of ---", "begin on the next line"],
  textBelow: [
    "a text or a bracket on a later line than its key or dash",
    "write it on the line of its key or dash",
  ],
  textOverLines: ["a text over several lines", "write it on one line, or as a | block"],
} as const satisfies Record<string, readonly [what: string, instead: string]>;

export type RefusedForm = keyof typeof REFUSED;

/** Why a text cannot be read: one sentence with the line, which never quotes the text. */
export class YamlFault extends Error {}

/** The fault for a refused form. `line` counts from 1. */
export function refused(form: RefusedForm, line: number): YamlFault {
  const [what, instead] = REFUSED[form];
  return new YamlFault(`${what} (line ${line}): ${instead}`);
}
