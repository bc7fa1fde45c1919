/** The guard of every door that this library opens: the daemon's own. */

import { whyForeign } from "../../guard.ts";

/**
 * The refusal of a request that a web page may have made, or `undefined` where it may go on. A request without a Host,
 * as HTTP/1.0 allows it, is not understood (400); any other is forbidden (403). Nothing of its body is read, so the
 * connection ends with the answer.
 */
export function refuseForeign({ headers }: Request): Response | undefined {
  const why = whyForeign(headers);
  if (why === undefined) return undefined;
  const error = `refused before it was read: this door answers only ${why}`;
  const status = headers.has("host") ? 403 : 400;
  return Response.json({ error }, { status, headers: { connection: "close" } });
}

/** The path as it was sent, without its query. A `URL` cannot be made of every request: one without a Host has none. */
export function pathOf({ url }: Request): string {
  const path = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("://") + 3));
  return path.split(/[?#]/, 1)[0] ?? "";
}
