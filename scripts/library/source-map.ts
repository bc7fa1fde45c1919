/**
 * Source maps as they go into the package: for each line of JavaScript the line it was made from, and the sources
 * without what no line was made from. In full they would be most of the package.
 */

interface SourceMap {
  readonly sourcesContent: readonly string[];
  readonly mappings: string;
}

/** A map's text, slimmed. Everything but `sourcesContent` and `mappings` stays as it was. */
export function slimSourceMap(text: string): string {
  const map: SourceMap = JSON.parse(text);
  return JSON.stringify({
    ...map,
    sourcesContent: map.sourcesContent.map(onlyCode),
    mappings: firstOfEachLine(map.mappings),
  });
}

/** Whole lines that become no JavaScript: comments, imports and interfaces. The declarations hold them. */
const LEFT_OUT = [
  /^[ \t]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)[ \t]*$/gm,
  /^import [^;]*;$/gm,
  /^(?:export )?interface [^\n]*\{\n[\s\S]*?^\}$/gm,
];

/** Empty lines take their place: every other line keeps its number. */
function onlyCode(source: string): string {
  return LEFT_OUT.reduce(
    (text, pattern) => text.replace(pattern, (lines) => "\n".repeat(lines.split("\n").length - 1)),
    source,
  );
}

/**
 * Keeps the first position of each line that is not that of the line before. A position is column, source, line and column there; all but the first are
 * differences from the position before, so they are added up and taken apart again.
 */
function firstOfEachLine(mappings: string): string {
  let at = [0, 0, 0, 0];
  let written = [0, 0, 0, 0];
  return mappings
    .split(";")
    .map((line) => {
      let kept = "";
      at = [0, ...at.slice(1)];
      for (const segment of line.split(",")) {
        const fields = decode(segment);
        at = at.map((value, index) => value + (fields[index] ?? 0));
        // The bundler begins an indented line with the position where the line before ended.
        const isNew = fields.slice(1).some((field) => field !== 0);
        if (kept !== "" || !isNew) continue;
        // It stands for its whole line, from the first column on.
        const first = [0, ...at.slice(1)];
        written = [0, ...written.slice(1)];
        kept = first.map((value, index) => encode(value - (written[index] ?? 0))).join("");
        written = first;
      }
      return kept;
    })
    .join(";");
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Base 64 VLQ: five bits a digit, the lowest first; the sign is the lowest bit of all. */
function decode(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) !== 0) continue;
    numbers.push((value & 1) === 0 ? value >> 1 : -(value >> 1));
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encode(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = "";
  do {
    const more = rest > 31 ? 32 : 0;
    text += DIGITS[(rest & 31) | more];
    rest >>= 5;
  } while (rest > 0);
  return text;
}
