/** The check that every door of this library makes on a request. The daemon uses the same one. */

import { whyForeign } from "../../guard.ts";

/**
 * The refusal of a request that a web page may have made, or `undefined` if it may go on. A request without a Host
 * header, which HTTP/1.0 allows, gets 400; any other refused one gets 403. The body is not read, so the connection
 * is closed after the answer.
 */
export function refuseForeign({ headers }: Request): Response | undefined {
  const why = whyForeign(headers);
  if (why === undefined) return undefined;
  const error = `refused before it was read: this door answers only ${why}`;
  const status = headers.has("host") ? 403 : 400;
  return Response.json({ error }, { status, headers: { connection: "close" } });
}

/** The path as it was sent, without the query. We cannot use `URL` here: it fails for a request without a Host. */
export function pathOf({ url }: Request): string {
  const path = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("://") + 3));
  return path.split(/[?#]/, 1)[0] ?? "";
}
