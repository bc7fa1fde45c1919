/** A position in the text that only moves forward, and its line. Also reads what is common to all forms: spaces, comments. */

import { DASH, DOT, HASH, LINE_FEED, SPACE, TAB } from "./characters.ts";
import { type RefusedForm, refused, type YamlFault } from "./fault.ts";

export class Cursor {
  /** Offset of the next character. */
  at = 0;
  /** Counted from 1. */
  line = 1;
  #lineStart = 0;

  constructor(readonly text: string) {}

  /** The code of the character `ahead` of this position; `NaN` after the end. */
  code(ahead = 0): number {
    return this.text.charCodeAt(this.at + ahead);
  }

  /** How many characters of this line come before this position. */
  get column(): number {
    return this.at - this.#lineStart;
  }

  get atEnd(): boolean {
    return this.at >= this.text.length;
  }

  get atLineEnd(): boolean {
    return this.atEnd || this.code() === LINE_FEED;
  }

  fault(form: RefusedForm): YamlFault {
    return refused(form, this.line);
  }

  skipSpaces(): void {
    while (this.code() === SPACE) this.at++;
    if (this.code() === TAB) throw this.fault("tab");
  }

  /** Skips spaces and a comment. Returns whether the line ends there. */
  skipToLineEnd(): boolean {
    this.skipSpaces();
    if (this.code() === HASH && this.#mayBeginComment()) {
      const end = this.text.indexOf("\n", this.at);
      this.at = end === -1 ? this.text.length : end;
    }
    return this.atLineEnd;
  }

  /** A `#` directly after other text is text to one reader and a comment to another. */
  #mayBeginComment(): boolean {
    return this.column === 0 || this.code(-1) === SPACE;
  }

  /** From the end of a line to the start of the next. */
  nextLine(): void {
    if (this.atEnd) return;
    this.at++;
    this.line++;
    this.#lineStart = this.at;
  }

  /** Skips what may follow a value on its last line: spaces and a comment. */
  finishLine(): void {
    if (!this.skipToLineEnd()) throw this.fault("textAfterValue");
    this.nextLine();
  }

  /** Whether `---` or `...` is here at a line's start. Readers disagree about some of what may follow. */
  get atMarker(): boolean {
    const code = this.code();
    if ((code !== DASH && code !== DOT) || this.column !== 0) return false;
    return this.code(1) === code && this.code(2) === code;
  }

  /** Whether a space or the line's end is `ahead`: only before those are `-` and `:` indicators. */
  isGap(ahead: number): boolean {
    const code = this.code(ahead);
    return code === SPACE || code === LINE_FEED || Number.isNaN(code);
  }
}
