/** Where a request goes, as its client wrote it. */

/**
 * The path as it was sent, without the query. `URL` cannot be used for that: it fails for a request without a usable Host,
 * whose `url` is the path alone.
 */
export function sentPath({ url }: Pick<Request, "url">): string {
  const path = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("://") + 3));
  return path.split(/[?#]/, 1)[0] ?? "";
}
