/**
 * Who may talk to a server on loopback at all: the daemon, and every door that the runtime library opens.
 *
 * A web page can post to a loopback port without asking anybody, and by DNS rebinding read the answer; it cannot hide
 * its Origin or its Host. Both are looked at before anything else of a request is.
 */

/** A colon without a port behind it means the port that HTTP has. */
const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{0,5}))?$/i;
const MAX_PORT = 65535;

/**
 * What this server answers only, where the request is not one of those: it completes "this daemon answers only …".
 * `undefined` where the caller may go on.
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
