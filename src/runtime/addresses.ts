/** Addresses that a runtime sends tokens to: the daemon's, and doors on loopback. */

import { fault, ok, type Result } from "../result.ts";

/**
 * An `http:` URL of a literal loopback address and a port, without user information, path or query: a child's or
 * parent's door.
 */
export type DoorUrl = URL & { readonly __brand: "DoorUrl" };

/** The port as it is written: a URL leaves out the one that is usual. */
const PORT = /:(\d{1,5})\/?$/;
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/**
 * The text as a door, or `undefined`. A name, `localhost` too, is no address: who resolves it decides where the
 * bearer token goes. Without a port, or with port 0, nothing can listen there.
 */
export function parseDoorUrl(text: string): DoorUrl | undefined {
  const url = URL.parse(text);
  if (url === null || !isPlain(url) || url.pathname !== "/" || !LOOPBACK.test(url.hostname)) return undefined;
  return Number(PORT.exec(text.trim())?.[1] ?? 0) > 0 ? (url as DoorUrl) : undefined;
}

/** The door as `<address>:<port>`, the usual port too. */
export function addressOf({ hostname, port }: DoorUrl): string {
  return `${hostname}:${port === "" ? "80" : port}`;
}

/** The daemon's base URL: `http:`, perhaps with a path, which never ends in `/`. */
export type RoostUrl = string & { readonly __brand: "RoostUrl" };

/**
 * Reads `MURMUR_ROOST_URL`; one trailing `/` is removed.
 *
 * The fault is one phrase that can follow "could not register: ".
 */
export function parseRoostUrl(value: string | undefined): Result<RoostUrl, string> {
  const text = value?.trim() ?? "";
  if (text === "") return fault("MURMUR_ROOST_URL is not set");
  const url = URL.parse(text);
  // The value is not quoted: an operator may have put a password in it.
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
