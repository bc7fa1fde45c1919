import { describe, expect, test } from "bun:test";
import { ourAnswer } from "../../../scripts/yaml-fuzz/readers.ts";
import { YamlFault } from "../../../src/registry/yaml/fault.ts";
import { readYamlTree, readYamlTreeInSteps } from "../../../src/registry/yaml/read-tree.ts";

/** The tree as nested values: mappings as pairs, plain texts as they are, other texts after a quote. */
const read = (text: string): unknown => {
  const plain = (answer: unknown): unknown => {
    if (typeof answer === "string") return answer.startsWith("=") ? answer.slice(1) : answer;
    if (Array.isArray(answer)) return answer.map(plain);
    const { map } = answer as { map: [string, unknown][] };
    return Object.fromEntries(map.map(([key, value]) => [key, plain(value)]));
  };
  const answer = ourAnswer(text);
  return answer === undefined ? faultOf(text) : plain(answer);
};
const faultOf = (text: string): string => {
  try {
    readYamlTree(text);
    return "read";
  } catch (error) {
    if (error instanceof YamlFault) return error.message.replace(/:.*/, "");
    throw error;
  }
};

describe("a text is read", () => {
  test.each<[string, unknown]>([
    ["", ""],
    ["# nothing\n", ""],
    ["--- # a\n", ""],
    ["# nothing", ""],
    ["hello", "hello"],
    ["a: b # c", { a: "b" }],
    ["a: b #c\n#d", { a: "b" }],
    ["a,b [c]: {d: }\n", { "a,b [c]": { d: "" } }],
    ["a{b}, c]: d\n'e, f': g\n", { "a{b}, c]": "d", "e, f": "g" }],
    ["[a?b, c:d?]", ["a?b", "c:d?"]],
    ["a: |\n  b\n  \tc\n", { a: '"b\n\tc\n' }],
    ["a: |\n  \n \n  b\n", { a: '"\n\nb\n' }],
    [
      String.raw`["\ud7ff", "\ue000", "\U0010ffff", "\uD7FF"]`,
      ['"\ud7ff', '"\ue000', '"\u{10ffff}', '"\ud7ff'],
    ],
    ["[]", []],
    ["{a: b}", { a: "b" }],
    ["a: b", { a: "b" }],
    ["  a: b\n  c:\n", { a: "b", c: "" }],
    ["# a\n\n---\n# b\na: b\n", { a: "b" }],
    ["a : b\n'c' :\n  d: e # f\n", { a: "b", c: { d: "e" } }],
    ["a:\n- b\n- c\nd: e", { a: ["b", "c"], d: "e" }],
    ["a:\n- b:\n  - c\n  d: e\n- f", { a: [{ b: ["c"], d: "e" }, "f"] }],
    ["- - a\n  - b\n- c: d\n  e: f\n-\n- ", [["a", "b"], { c: "d", e: "f" }, "", ""]],
    ["-\n  a: b\n-\n\n # c\n  - d\n", [{ a: "b" }, ["d"]]],
    ["a:\n  b\nc:\n  [d,\n  e]\n", { a: "b", c: ["d", "e"] }],
    ["a: # b\n\n# c\n  d: e\n", { a: { d: "e" } }],
    ["a: x#y, [z] {} & *\n", { a: "x#y, [z] {} & *" }],
    ["a: -v\nb: [--flag, -1]\n-c: --\n", { a: "-v", b: ["--flag", "-1"], "-c": "--" }],
    ["a:b: c:d\n", { "a:b": "c:d" }],
    ["a: 'it''s: # {x}'\nb: ''\n", { a: "\"it's: # {x}", b: '"' }],
    [
      String.raw`a: "\"\\\x41\u00e9\U0001F600\0\a\b\t\n\v\f\r\e\N\_\L\P\ "`,
      { a: '""\\Aé😀\0\x07\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029 ' },
    ],
    ["a: 'x\ty' # \t\nb: |\n  x\ty\n", { a: '"x\ty', b: '"x\ty\n' }],
    ["[a , 'b' ,\n# c\n  [ ], {}, ]", ["a", '"b', [], {}]],
    ["{a: , b: 1\n, c:\n  d, 'e':f, \"g\" :[]}", { a: "", b: "1", c: "d", e: "f", g: [] }],
    ["a: {\n  b: [\n    c\n  ]\n}\n", { a: { b: ["c"] } }],
    ["a: |\n  b\n   c\n\n  d\n\ne: f\n", { a: '"b\n c\n\nd\n', e: "f" }],
    ["a: |-\n  b\n\n", { a: '"b' }],
    ["a: |+ # c\n  b\n\n# c\n", { a: '"b\n\n' }],
    ["a: |\nb: |+\n\nc: >-\n", { a: '"', b: '"\n', c: '"' }],
    ["a: >\n  b\n  c\n\n  d\n   e\n  f\n", { a: '"b c\nd\n e\nf\n' }],
    ["- |\n a\n- - >-\n   b\n", ['"a\n', ['"b']]],
    ["a:\n- |\n b\n", { a: ['"b\n'] }],
    ["a: |\n    b\n  # c\nd: e\n", { a: '"b\n', d: "e" }],
    ["a: b\r\nc: |\r\n  d\r\n  e\r\n", { a: "b", c: '"d\ne\n' }],
    ["constructor: a\n__proto__x: b\n", { constructor: "a", __proto__x: "b" }],
    [`${"k".repeat(1024)}: a`, { ["k".repeat(1024)]: "a" }],
    [`${"[".repeat(127)}${"]".repeat(127)}`, expect.anything()],
    [`${"- ".repeat(127)}a`, expect.anything()],
  ])("%j", (text, tree) => {
    expect(read(text)).toEqual(tree);
  });

  test("in its own order, even with keys that every object has", () => {
    expect(ourAnswer("b: 1\n__proto__: 2\na: {toString: 3}\n")).toEqual({
      map: [
        ["b", "=1"],
        ["__proto__", "=2"],
        ["a", { map: [["toString", "=3"]] }],
      ],
    });
  });

  test("with pauses wherever it is long", () => {
    const long = ["a\n", "- a\n", "  a\n", "#\n", "\n", "a,", "\\n"].map((part) => part.repeat(5000));
    const [, items = "", block = "", comments = "", empty = "", entries = ""] = long;
    for (const text of [items, `a: |\n${block}`, `a: >\n${block}`, comments, empty, `[${entries}]`]) {
      let pauses = 0;
      for (const work = readYamlTreeInSteps(text); !work.next().done; ) pauses++;
      expect(pauses).toBeGreaterThan(50);
    }
  });

  test("with pauses while the lines of a > block are joined", () => {
    const pauses = ["|", ">"].map((sign) => {
      let count = 0;
      for (const work = readYamlTreeInSteps(`a: ${sign}\n${"  a\n".repeat(5000)}`); !work.next().done; )
        count++;
      return count;
    });
    expect(pauses[1]).toBeGreaterThan((pauses[0] ?? 0) + 50);
  });
});

describe("a text is refused", () => {
  test.each([
    // Each of these is read by libyaml and by a reader of YAML 1.2, as two different trees.
    ["{name: child, ?capabilities: {shell: {allow: [bash]}}}", "? as a sign for a key (line 1)"],
    ["capabilities: {?shell: {allow: [bash]}}", "? as a sign for a key (line 1)"],
    ["scope: &a:/../secret/ data", "an anchor (&…) (line 1)"],
    ["note: 'see ''\ncapabilities: {}\nlast: x'\n", "a quoted text over several lines (line 1)"],
    ['scope: "data x\\\n\n      y"', "a quoted text over several lines (line 1)"],
    ["allow:\n-\n\n#\n git\n- bash\n", "a text or a bracket on a later line than its key or dash (line 5)"],
    ["a: |\n   \n b\n", "an empty line with too many spaces at the start of a block of text (line 3)"],
  ])("that two readers take differently: %j", (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  test.each([
    ["a: b\n---\n", "more than one document (line 2)"],
    ["a: b\n...\n", "more than one document (line 2)"],
    ["---\n---\n", "more than one document (line 2)"],
    ["...\n", "more than one document (line 1)"],
    ["---a: b", "more than one document (line 1)"],
    ["--- a", "text on the line of --- (line 1)"],
    ["a: [\n---\n]", "more than one document (line 2)"],
    ["a:\n\n  [b]", "a text or a bracket on a later line than its key or dash (line 3)"],
    ["a:\n# b\n  c", "a text or a bracket on a later line than its key or dash (line 3)"],
    ["-\n  'a'", "a text or a bracket on a later line than its key or dash (line 2)"],
    ["- a:\n   - |\n b: c\n", "a line that is indented deeper than its neighbours (line 3)"],
    ['{"a":}', "a key without a colon and a space on its line (line 1)"],
    ['{"a":, b: c}', "a key without a colon and a space on its line (line 1)"],
    ["{a:}", "a colon before a bracket, a comma or a question mark (line 1)"],
    ["[a:?b]", "a colon before a bracket, a comma or a question mark (line 1)"],
    ["[a:, b]", "a colon before a bracket, a comma or a question mark (line 1)"],
    ['a: "b"# c', "text after a value (line 1)"],
    ["a: [b]# c", "text after a value (line 1)"],
    ["a: \tb", "a tab outside of comments, quotes and blocks of text (line 1)"],
    ["a: [\tb]", "a tab outside of comments, quotes and blocks of text (line 1)"],
    ["a:\n  [b,\n\tc]", "a tab outside of comments, quotes and blocks of text (line 3)"],
    [String.raw`a: "\ud800"`, "an escape that not every reader knows (line 1)"],
    [String.raw`a: "\uDFFF"`, "an escape that not every reader knows (line 1)"],
    ["\n\n\n# \ufeff", "the character U+FEFF is not allowed (line 4)"],
    ["a: *b", "an alias (*…) (line 1)"],
    ["- &a", "an anchor (&…) (line 1)"],
    ["{<<: a}", "a merge key (<<) (line 1)"],
    ["'<<': a", "a merge key (<<) (line 1)"],
    ["a: b\n  # c\n  d", "a text over several lines (line 3)"],
    ["- a\n b", "a text over several lines (line 2)"],
    ["a\nb", "a text over several lines (line 2)"],
    ["[a\nb]", "no comma between two values in brackets (line 2)"],
    ["{a\n: b}", "a key without a colon and a space on its line (line 1)"],
    ["{a}", "a key without a colon and a space on its line (line 1)"],
    ["'a':b", "text after a value (line 1)"],
    ['"a" b: c', "text after a value (line 1)"],
    ["a: b # c\n#d\n\te: f", "a tab outside of comments, quotes and blocks of text (line 3)"],
    ["a: b\t", "a tab outside of comments, quotes and blocks of text (line 1)"],
    ["a: b\tc", "a tab outside of comments, quotes and blocks of text (line 1)"],
    ["a:\tb", "a tab outside of comments, quotes and blocks of text (line 1)"],
    ["a:\n  b\n c: d", "a text over several lines (line 3)"],
    ["  a: b\nc: d", "a text over several lines (line 2)"],
    ["[a]#b", "text after a value (line 1)"],
    ["a: |#b\n", "text after a value (line 1)"],
    ["a: |1-\n b\n", "a block of text with an indentation number (line 1)"],
    ["a: >+9\n b\n", "a block of text with an indentation number (line 1)"],
    ["a: |\n  b\n \tc\n", "a tab where a block of text begins or is indented (line 3)"],
    ["a: |\n  b\n  ", "a block of text without a line break at the end of the file (line 1)"],
    ["a: |", "a block of text without a line break at the end of the file (line 1)"],
    ['a: "\\ud83d\\ude00"', "an escape that not every reader knows (line 1)"],
    ['a: "\\x4"', "an escape that not every reader knows (line 1)"],
    ['a: "\\U00110000"', "an escape that not every reader knows (line 1)"],
    ["a: {b: 1, 'b': 2}", "a key for the second time in one mapping (line 1)"],
    ["[a]: b", "a list or a mapping used as a key (line 1)"],
    ["a: b\n{}: c", "a list or a mapping used as a key (line 2)"],
    ["{[]: a}", "a list or a mapping used as a key (line 1)"],
    ["[a: b]", "`key"],
    ["['a':b]", "`key"],
    [`a: {${"k".repeat(1025)}: b}`, "a key longer than 1024 characters (line 1)"],
    [`"${"k".repeat(1023)}": b`, "a key longer than 1024 characters (line 1)"],
  ])("%j", (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  test("for its depth, before any tree is built", () => {
    for (const opening of ["[", "{a: ", "- ", "- - ", "a:\n- "]) {
      expect(faultOf(`x:\n  ${opening.repeat(2000)}`)).not.toBe("read");
    }
    const deep = Array.from({ length: 128 }, (_, level) => `${" ".repeat(level)}k:\n`).join("");
    expect(faultOf(deep)).toBe("nested deeper than 127 levels (line 128)");
  });

  const nowhere = [..."\0\x08\x0b\x1f\x7f\x85\x9f\u2028\u2029\ufeff\ufffe\uffff\r", "\ud800", "\udc00"];
  test.each(nowhere)("for the character %j in any position", (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    for (const text of [`a: b\n# ${character}x\n`, `a:\n "${character}"`, `\na: |\r\n  ${character}x\n`]) {
      expect(faultOf(text)).toMatch(new RegExp(`^the character U\\+${code} is not allowed \\(line [23]\\)$`));
    }
  });
});
