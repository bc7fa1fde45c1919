/** A place in the text that moves forward only, with the line it is on. What every form begins and ends with is here. */

import { DASH, DOT, HASH, LINE_FEED, SPACE, TAB } from "./characters.ts";
import { type RefusedForm, refused, type YamlFault } from "./fault.ts";

export class Cursor {
  /** Offset of the character that is read next. */
  at = 0;
  /** Counted from 1. */
  line = 1;
  #lineStart = 0;

  constructor(readonly text: string) {}

  /** The code of the character `ahead` of this place; `NaN` behind the end. */
  code(ahead = 0): number {
    return this.text.charCodeAt(this.at + ahead);
  }

  /** How many characters of this line stand before this place. */
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

  /** Moves over spaces and a comment. Whether that was all of the line. */
  skipToLineEnd(): boolean {
    this.skipSpaces();
    if (this.code() === HASH && this.#mayBeginComment()) {
      const end = this.text.indexOf("\n", this.at);
      this.at = end === -1 ? this.text.length : end;
    }
    return this.atLineEnd;
  }

  /** A `#` that touches what stands before it is text to one reader and a comment to another. */
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

  /** What stands behind a value on its last line: at most spaces and a comment. */
  finishLine(): void {
    if (!this.skipToLineEnd()) throw this.fault("textBehindValue");
    this.nextLine();
  }

  /** Whether `---` or `...` stands here at a line's start; readers disagree about some of what may follow them. */
  get atMarker(): boolean {
    const code = this.code();
    if ((code !== DASH && code !== DOT) || this.column !== 0) return false;
    return this.code(1) === code && this.code(2) === code;
  }

  /** Whether what is `ahead` is a space or the end of the line: where `-` and `:` mean more than themselves. */
  isGap(ahead: number): boolean {
    const code = this.code(ahead);
    return code === SPACE || code === LINE_FEED || Number.isNaN(code);
  }
}
