/** Texts without quotes, on one line. */

import { COLON, COMMA, DASH, HASH, isFlowIndicator, LINE_FEED, QUESTION, SPACE, TAB } from "./characters.ts";
import type { Cursor } from "./cursor.ts";
import type { RefusedForm } from "./fault.ts";

/** Characters that cannot begin a plain text, and what each one begins instead. */
const INDICATORS: ReadonlyMap<number, RefusedForm> = new Map(
  Object.entries({
    "?": "questionMark",
    ":": "colonFirst",
    ",": "strayBracket",
    "]": "strayBracket",
    "}": "strayBracket",
    "#": "textBehindValue",
    "&": "anchor",
    "*": "alias",
    "!": "tag",
    "%": "directive",
    "@": "atSign",
    "`": "backtick",
    "|": "blockUnderKey",
    ">": "blockUnderKey",
  } satisfies Record<string, RefusedForm>).map(([sign, form]) => [sign.charCodeAt(0), form]),
);

/**
 * Reads the text at the cursor and the spaces after it. The cursor is then at what ended the text: a line's end, a
 * comment, the `:` of a key, or inside brackets one of `, [ ] { }`.
 *
 * @throws YamlFault if no plain text begins here, or if readers differ about what it contains
 */
export function readPlain(cursor: Cursor, inFlow: boolean): string {
  refuseIndicator(cursor, inFlow);
  const start = cursor.at;
  let end = start;
  for (;;) {
    const code = cursor.code();
    if (code === SPACE) {
      cursor.at++;
      continue;
    }
    if (code === LINE_FEED || Number.isNaN(code)) break;
    if (code === TAB) throw cursor.fault("tab");
    if (code === HASH && cursor.code(-1) === SPACE) break;
    if (code === COLON) {
      if (cursor.isGap(1)) break;
      if (inFlow && (cursor.code(1) === QUESTION || isFlowIndicator(cursor.code(1)))) {
        throw cursor.fault("colonInFlow");
      }
    }
    if (inFlow && isFlowIndicator(code)) break;
    end = ++cursor.at;
  }
  return cursor.text.slice(start, end);
}

function refuseIndicator(cursor: Cursor, inFlow: boolean): void {
  const code = cursor.code();
  if (code === DASH) {
    if (cursor.isGap(1) || isFlowIndicator(cursor.code(1)))
      throw cursor.fault(inFlow ? "dashInFlow" : "dashBehindKey");
    return;
  }
  const form = INDICATORS.get(code);
  if (form === undefined) return;
  if (inFlow && form === "blockUnderKey") throw cursor.fault("blockInFlow");
  if (inFlow && code === COMMA) throw cursor.fault("emptyEntry");
  throw cursor.fault(form);
}
