/** Every link in every document has a target. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { type Document, documents, ROOT } from "../kit/documents.ts";

/** A document's text without its code, where brackets mean something else. */
function proseOf(text: string): string {
  return text.replace(/^(\s*)(`{3,})[\s\S]*?^\s*\2\s*$/gm, "").replace(/`[^`\n]*`/g, "");
}

function linksOf({ text }: Document): string[] {
  const prose = proseOf(text);
  const inline = [...prose.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return [...inline, ...references].map(([, target = ""]) => target);
}

/** The names of a document's headings in an address, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replace(/^(`{3,})[\s\S]*?^\1\s*$/gm, "").matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
    const base = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Why a link of this document is broken, or `undefined`. */
function faultOf(document: Document, link: string): string | undefined {
  // Nothing is fetched: only the form of an address elsewhere is looked at.
  if (/^[a-z]+:/.test(link))
    return URL.canParse(link) && link.startsWith("https:") ? undefined : "no https address";
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? document.path : normalize(join(dirname(document.path), path));
  if (!existsSync(join(ROOT, target))) return "nothing is there";
  if (anchor === undefined) return undefined;
  return anchorsOf(readFileSync(join(ROOT, target), "utf8")).has(anchor) ? undefined : "no such heading";
}

const all = documents();

test.each(all.map((document) => [document.path, document] as const))(
  "every link of %s has a target",
  (_, document) => {
    const faults = linksOf(document).map((link) => [link, faultOf(document, link)] as const);
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([]);
  },
);

test("links are found, and a broken one is reported", () => {
  expect(all.flatMap(linksOf).length).toBeGreaterThan(5);
  const document = {
    path: "docs/one.md",
    text: "# A heading, with `code`\n[a](../README.md) [b](nowhere.md) [c](#a-heading-with-code) [d](#none)\n\n[e]: ../none.md\n",
  };
  const readme = { path: "README.md", text: document.text };
  expect(linksOf(document)).toEqual([
    "../README.md",
    "nowhere.md",
    "#a-heading-with-code",
    "#none",
    "../none.md",
  ]);
  expect(faultOf(document, "../README.md")).toBeUndefined();
  expect(faultOf(document, "nowhere.md")).toBe("nothing is there");
  expect(faultOf(document, "http://example.com")).toBe("no https address");
  expect(faultOf(readme, "#two-commands")).toBeUndefined();
  expect(faultOf(readme, "#three-commands")).toBe("no such heading");
  expect([...anchorsOf(document.text)]).toEqual(["a-heading-with-code"]);
});
