/**
 * Who may talk to a loopback server: the daemon, and every door that the runtime library opens.
 *
 * A web page can post to a loopback port without permission, and read the answer by DNS rebinding. It cannot hide its
 * Origin or its Host, so both are checked before the rest of a request.
 */

/** A colon without a port means HTTP's default port. */
const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{0,5}))?$/i;
const MAX_PORT = 65535;

/**
 * Why the caller is refused, as the end of the sentence "this daemon answers only …". `undefined` if it may go on.
 */
export function whyForeign(headers: Headers): string | undefined {
  const host = LOOPBACK_HOST.exec(headers.get("host") ?? "");
  if (!host || Number(host[1] ?? 0) > MAX_PORT) {
    return "requests whose Host is 127.0.0.1, localhost or [::1]";
  }
  if (headers.has("origin")) return "requests without an Origin header, which a web page cannot leave out";
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "none") return "requests without a Sec-Fetch-Site header of another site";
  return undefined;
}
