/** What processes write to each other: JSON objects, identifiers, and the addresses that tokens are sent to. */

import { randomBytes } from "node:crypto";
import { parseJson } from "../json.ts";
import { fault, ok, type Result } from "../result.ts";

/** JSON from another process is an object or `undefined`, and is checked field by field. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    return objectIn(parseJson(text));
  } catch {
    return undefined;
  }
}

export function objectIn(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

export function stringIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** What an identifier is of: a session, delegation, context, task, message, request, formation. */
export type IdPrefix = "ses" | "dlg" | "ctx" | "tsk" | "msg" | "req" | "frm";

/** `<prefix>_` and a UUID version 7 (RFC 9562) as 32 lowercase hex digits. They sort by the time they were made. */
export type Id<P extends IdPrefix> = `${P}_${string}`;

/** What identifiers are made from: unix milliseconds, and random bytes that nobody can guess. */
export interface IdSource {
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

const COUNTER_BITS = 12;

/**
 * Makes identifiers, each greater than the one before whatever its prefix, even if the clock stands still or is set
 * back. Within one millisecond the twelve bits after the version count up from a random start (RFC 9562, 6.2, method
 * 1). When they are used up, the next millisecond is used early.
 */
export function createIdMaker({ now, randomBytes }: IdSource): <P extends IdPrefix>(prefix: P) => Id<P> {
  let millisecond = -1;
  let counter = 0;
  return (prefix) => {
    const random = Buffer.from(randomBytes(10));
    const time = Math.floor(now());
    if (time > millisecond) {
      millisecond = time;
      // The start is in the lower half, which leaves the upper half for counting.
      counter = random.readUInt16BE(0) >> (16 - COUNTER_BITS + 1);
    } else if (++counter === 1 << COUNTER_BITS) {
      millisecond++;
      counter = 0;
    }
    const tail = random.subarray(2);
    tail[0] = 0x80 | ((tail[0] ?? 0) & 0x3f);
    const head = millisecond.toString(16).padStart(12, "0") + (0x7000 | counter).toString(16);
    return `${prefix}_${head}${tail.toString("hex")}`;
  };
}

/** A new identifier, greater than all that this process made before. */
export const newId = createIdMaker({ now: Date.now, randomBytes });

/** Makes the name of a child's directory unique: 8 random bytes as 16 lowercase hex digits. */
export function directorySuffix(random: IdSource["randomBytes"] = randomBytes): string {
  return Buffer.from(random(8)).toString("hex");
}

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
