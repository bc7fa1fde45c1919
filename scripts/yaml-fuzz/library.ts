/** The `yaml` package, a reader of YAML 1.2, with answers in the format of the other readers. */

import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import type { Answer } from "./python.ts";

export function libraryAnswer(document: string): Answer {
  const parsed = parseDocument(document, {
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
  });
  const error = parsed.errors[0];
  if (error) return { refused: error.message };
  return answerOf(parsed.contents);
}

function answerOf(node: unknown): Answer {
  if (isSeq(node)) return node.items.map(answerOf);
  if (isMap(node))
    return {
      map: node.items.map(({ key, value }) => [isScalar(key) ? key.value : answerOf(key), answerOf(value)]),
    };
  if (!isScalar(node)) return "=";
  return (node.type === "PLAIN" || node.type === undefined ? "=" : '"') + String(node.value ?? "");
}
