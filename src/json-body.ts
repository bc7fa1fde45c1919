/** Reads a request's body as JSON, whatever its content type says: for the daemon, and for the doors that the library opens. */

import { readBytes, type UnreadBody } from "./body-bytes.ts";
import { fault, ok, type Result } from "./result.ts";

/** Why there is no value. `what` is a sentence that names what to change. */
export type BodyFault = UnreadBody | { readonly kind: "bad-body"; readonly what: string };

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads the body within its size limit and its deadline. */
export async function readJsonBody(request: Request): Promise<Result<unknown, BodyFault>> {
  const bytes = await readBytes(request);
  if ("kind" in bytes) return fault(bytes);
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return fault(notJson("is not valid UTF-8"));
  }
  try {
    return ok(JSON.parse(text));
  } catch {
    return fault(notJson(text === "" ? "is empty, and must be a JSON object" : "cannot be parsed"));
  }
}

function notJson(why: string): BodyFault {
  return { kind: "bad-body", what: `invalid JSON: the body ${why}` };
}
