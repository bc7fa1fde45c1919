/**
 * Makes source maps small: in full they would be most of the package. They keep, for each line of JavaScript, the source
 * line it was made from, and only those parts of the sources that became JavaScript.
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

/** Whole lines that do not become JavaScript: comments, imports and interfaces. The declarations have them. */
const LEFT_OUT = [
  /^[ \t]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)[ \t]*$/gm,
  /^import [^;]*;$/gm,
  /^(?:export )?interface [^\n]*\{\n[\s\S]*?^\}$/gm,
];

/** Replaces them by empty lines, so that all other lines keep their numbers. */
function onlyCode(source: string): string {
  return LEFT_OUT.reduce(
    (text, pattern) => text.replace(pattern, (lines) => "\n".repeat(lines.split("\n").length - 1)),
    source,
  );
}

/**
 * Keeps the first position of each line that differs from the line before. A position is column, source, line and column
 * there. All but the first are differences from the previous position, so they are summed up and then encoded again.
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
        // The bundler starts an indented line with the position where the previous line ended.
        const isNew = fields.slice(1).some((field) => field !== 0);
        if (kept !== "" || !isNew) continue;
        // It applies to the whole line, from the first column on.
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

/** Base 64 VLQ: five bits per digit, the lowest first. The lowest bit of all is the sign. */
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
