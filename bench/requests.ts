/** Requests as bytes, made before anything is measured. */

import type { Capsule } from "./host.ts";

type Headers = Readonly<Record<string, string>>;

/** Any request. Adds the length of a body. */
export function rawRequest(method: string, path: string, headers: Headers = {}, body?: string): Uint8Array {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(bytes ? ["content-type: application/json", `content-length: ${bytes.length}`] : []),
    "",
    "",
  ];
  return Buffer.concat([Buffer.from(lines.join("\r\n")), bytes ?? new Uint8Array(0)]);
}

export const healthRequest = (): Uint8Array => rawRequest("GET", "/health");

export const statusRequest = (sessionId: string): Uint8Array => rawRequest("GET", `/status/${sessionId}`);

/** `POST /spawn` with the given body, well formed or not. */
export function rawSpawnRequest(credential: string | undefined, body: string): Uint8Array {
  return rawRequest(
    "POST",
    "/spawn",
    credential === undefined ? {} : { "x-murmur-spawn-credential": credential },
    body,
  );
}

export function spawnRequest(credential: string | undefined, { name, version }: Capsule): Uint8Array {
  return rawSpawnRequest(credential, JSON.stringify({ name, version }));
}

export function registerRequest(
  sessionId: string,
  { name, version }: Capsule,
  approval?: string,
): Uint8Array {
  const headers = approval === undefined ? {} : { "x-murmur-spawn-approval": approval };
  return rawRequest("POST", "/register", headers, JSON.stringify({ session_id: sessionId, name, version }));
}

export function deregisterRequest(credential: string): Uint8Array {
  return rawRequest(
    "POST",
    "/deregister",
    { "x-murmur-spawn-credential": credential },
    JSON.stringify({ outcome: "complete" }),
  );
}
