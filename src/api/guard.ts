/**
 * Who may talk to a loopback daemon at all.
 *
 * A web page can post to a loopback port without asking anybody, and by DNS rebinding read the answer; it cannot hide
 * its Origin or its Host. Both are looked at before the body is.
 */

import type { Refusal } from "./refusals.ts";

/** A colon without a port behind it means the scheme's own. */
const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::([0-9]{0,5}))?$/i;
const MAX_PORT = 65535;

/** Why this caller is not answered, or `undefined` where it may go on. */
export function refuseForeignCaller(headers: Headers): Refusal | undefined {
  const host = LOOPBACK_HOST.exec(headers.get("host") ?? "");
  if (!host || Number(host[1] ?? 0) > MAX_PORT) {
    return { kind: "foreign-caller", why: "requests whose Host is 127.0.0.1, localhost or [::1]" };
  }
  if (headers.has("origin")) {
    return {
      kind: "foreign-caller",
      why: "requests without an Origin header, which a web page cannot leave out",
    };
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "none") {
    return { kind: "foreign-caller", why: "requests without a Sec-Fetch-Site header of another site" };
  }
  return undefined;
}
