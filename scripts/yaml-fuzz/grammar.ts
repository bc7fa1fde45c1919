/**
 * Documents by the grammar of the forms that are read, with an odd piece here and there. Names are few and short, so that
 * the structure is what varies.
 */

import { ESCAPES, FLOW_WORDS, INSIDE_QUOTES, LINES, LONG, ODD, WORDS } from "./pieces.ts";
import type { Random } from "./random.ts";

/** One in this many pieces is an odd one. */
const ODD_EVERY = 150;

export class Grammar {
  constructor(readonly random: Random) {}

  document(): string {
    const { random } = this;
    const marker = random.once(12) ? random.pick(["---\n", "--- # a\n", "---  \n"]) : "";
    const top = this.noise(0) + marker + this.noise(0) + this.block(random.once(20) ? 2 : 0, 0);
    const document = random.once(8) ? top.trimEnd() : top;
    return random.once(30) ? document.replaceAll("\n", "\r\n") : document;
  }

  /** Lines of a list or mapping whose entries are all at `column`, the first one too. */
  block(column: number, depth: number): string {
    const entry = this.random.once(3)
      ? () => this.item(column, depth)
      : () => this.noise(column) + " ".repeat(column) + this.pair(column, depth);
    return this.random.repeat(1, 3, entry);
  }

  item(column: number, depth: number): string {
    const gap = this.random.pick([" ", " ", " ", "  ", "   "]);
    const inner = column + 1 + gap.length;
    const start = `${this.noise(column)}${" ".repeat(column)}-`;
    switch (depth > 4 ? 9 : this.random.below(10)) {
      case 0:
        return `${start}${this.lineEnd()}${this.block(column + 1 + this.random.below(3), depth + 1)}`;
      case 1:
      case 2: {
        const rest = this.random.once(2) ? this.block(inner, depth + 1) : "";
        const more = rest.startsWith(" ".repeat(inner)) && !rest.trimStart().startsWith("- ") ? rest : "";
        return `${start}${gap}${this.pair(inner, depth + 1)}${more}`;
      }
      case 3:
        return `${start}${gap}${this.item(inner, depth + 1).trimStart()}`;
      default:
        return `${start}${this.value(gap, column)}`;
    }
  }

  pair(column: number, depth: number): string {
    const { random } = this;
    const key = `${this.key()}${random.once(15) ? " " : ""}:`;
    switch (depth > 4 ? 9 : random.below(10)) {
      case 0:
      case 1:
      case 2:
        return `${key}${this.lineEnd()}${this.block(column + 1 + random.below(3), depth + 1)}`;
      case 3:
        // A list in the same column as its key.
        return `${key}${this.lineEnd()}${random.repeat(1, 3, () => this.item(column, depth + 1))}`;
      case 4:
        return `${key}${this.lineEnd()}${" ".repeat(column + 1 + random.below(3))}${this.oneLine(column)}${this.lineEnd()}`;
      default:
        return `${key}${this.value(random.pick([" ", " ", " ", "  "]), column)}`;
    }
  }

  /** What follows a key or a dash at `column`, with the line's end. */
  value(gap: string, column: number): string {
    if (this.random.once(8)) return this.lineEnd();
    if (this.random.once(5)) return `${gap}${this.blockText(column)}`;
    return `${gap}${this.oneLine(column)}${this.lineEnd()}`;
  }

  oneLine(column: number): string {
    return this.random.once(3) ? this.flow(column, 0) : this.scalar(WORDS);
  }

  blockText(column: number): string {
    const { random } = this;
    const depth = column + 1 + random.below(3);
    const header = random.pick(["|", ">"]) + random.pick(["", "", "-", "+"]) + (random.once(9) ? " # c" : "");
    const line = () => {
      const text = random.pick(LINES);
      return text === ""
        ? `${" ".repeat(random.once(4) ? random.below(depth + 2) : 0)}\n`
        : `${" ".repeat(depth)}${text}\n`;
    };
    return `${header}\n${random.repeat(0, 6, line)}${this.odd()}`;
  }

  flow(column: number, depth: number): string {
    const { random } = this;
    const isList = random.once(2);
    const inner =
      depth > 3
        ? () => this.scalar(FLOW_WORDS)
        : () => (random.once(4) ? this.flow(column, depth + 1) : this.scalar(FLOW_WORDS));
    const entry = () => {
      if (isList) return this.gap(column) + inner() + this.gap(column);
      const value = random.once(6) ? " " : random.once(9) ? this.gap(column) + inner() : ` ${inner()}`;
      return `${this.gap(column)}${this.key()}${random.once(15) ? " " : ""}:${random.once(30) ? value.trim() : value}${this.gap(column)}`;
    };
    const entries = random.repeat(0, 3, entry, ",") + (random.once(9) ? "," : "") + this.gap(column);
    return isList ? `[${entries}]` : `{${entries}}`;
  }

  /** What may come between two pieces inside brackets. */
  gap(column: number): string {
    const { random } = this;
    if (!random.once(6)) return random.once(2) ? " " : "";
    const comment = random.once(4) ? " # c" : "";
    const empty = random.once(9) ? "\n" : "";
    return `${comment}\n${empty}${" ".repeat(column + (random.once(9) ? 0 : 1 + random.below(3)))}`;
  }

  key(): string {
    const { random } = this;
    if (random.once(40)) return random.pick(['""', "<<", "a b", "-", "x".repeat(1020 + random.below(8))]);
    const name = random.once(3)
      ? random.pick(["a", "b", "c", "f-g", "h_i", "1", "j k"])
      : `k${random.below(999)}`;
    return random.once(4) ? this.quoted(name) : random.once(9) ? this.scalar([name]) : name;
  }

  scalar(words: readonly string[]): string {
    const { random } = this;
    if (random.once(4)) return this.quoted(random.once(200) ? LONG : "");
    if (random.once(500)) return LONG;
    const odd = this.odd();
    return random.once(2) ? random.pick(words) + odd : odd + random.pick(words);
  }

  /** `text` in quotes, together with something that only quotes allow. */
  quoted(text: string): string {
    const { random } = this;
    const inside = (escapes: readonly string[]) =>
      text + random.repeat(0, 3, () => random.pick(random.once(4) ? escapes : INSIDE_QUOTES)) + this.odd();
    return random.once(2) ? `"${inside(ESCAPES)}"` : `'${inside(["''"])}'`;
  }

  lineEnd(): string {
    const { random } = this;
    const comment = random.once(10) ? random.pick([" # c", "  #", " #c: d", " # - e"]) : "";
    return `${this.odd()}${random.once(20) ? "  " : ""}${comment}\n`;
  }

  /** Empty lines and comments before an entry. */
  noise(column: number): string {
    const { random } = this;
    if (!random.once(8)) return "";
    return random.repeat(1, 2, () =>
      random.pick(["\n", "#\n", "# c: d\n", `${" ".repeat(column)}# - e\n`, "   \n", " # c\n"]),
    );
  }

  odd(): string {
    return this.random.once(ODD_EVERY) ? this.random.pick(ODD) : "";
  }
}
