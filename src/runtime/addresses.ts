/** The addresses that a runtime sends tokens to: the daemon's, and doors on loopback. */

import { fault, ok, type Result } from "../result.ts";

/**
 * The door of a child or parent: an `http:` URL of a literal loopback address and a port, without user information,
 * path or query.
 */
export type DoorUrl = URL & { readonly __brand: "DoorUrl" };

/** The port as it is written. A URL object leaves out the default port. */
const PORT = /:(\d{1,5})\/?$/;
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/**
 * The text as a door, or `undefined`. A name is refused, even `localhost`, because name resolution would decide where
 * the bearer token goes. A URL without a port, or with port 0, is refused because nothing can listen there.
 */
export function parseDoorUrl(text: string): DoorUrl | undefined {
  const url = URL.parse(text);
  if (url === null || !isPlain(url) || url.pathname !== "/" || !LOOPBACK.test(url.hostname)) return undefined;
  return Number(PORT.exec(text.trim())?.[1] ?? 0) > 0 ? (url as DoorUrl) : undefined;
}

/** The door as `<address>:<port>`, including a default port. */
export function addressOf({ hostname, port }: DoorUrl): string {
  return `${hostname}:${port === "" ? "80" : port}`;
}

/** The daemon's base URL: `http:`, maybe with a path. It never ends in `/`. */
export type RoostUrl = string & { readonly __brand: "RoostUrl" };

/**
 * Reads `MURMUR_ROOST_URL` and removes one trailing `/`.
 *
 * The fault is a phrase that can follow "could not register: ".
 */
export function parseRoostUrl(value: string | undefined): Result<RoostUrl, string> {
  const text = value?.trim() ?? "";
  if (text === "") return fault("MURMUR_ROOST_URL is not set");
  const url = URL.parse(text);
  // The value is not quoted, because it may contain a password.
  if (url === null || !isPlain(url)) {
    return fault("MURMUR_ROOST_URL is not a plain http://host:port URL");
  }
  return ok(`${url.origin}${url.pathname.replace(/\/$/, "")}` as RoostUrl);
}

function isPlain(url: URL): boolean {
  return (
    url.protocol === "http:" &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === ""
  );
}
