/**
 * The floor: the minimum that a server on this runtime must do for a `/spawn`. It reads the same body, computes one HMAC
 * and answers with as many bytes. It judges nothing, remembers nothing and writes no log.
 */

import { writeSync } from "node:fs";

const key = crypto.getRandomValues(new Uint8Array(32));

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2] ?? 0),
  development: false,
  async fetch(request) {
    if (request.method === "GET") return Response.json({});
    const { name, version } = (await request.json()) as { readonly name: string; readonly version: string };
    const payload = Buffer.from(
      JSON.stringify({ v: 1, sid: "s".repeat(36), name, version, jti: "0".repeat(120) }),
    );
    const text = payload.toString("base64url");
    const mac = new Bun.CryptoHasher("sha256", key).update(text).digest("base64url");
    const approval = `msa1.${text}.${mac}`;
    return Response.json({ approval, name, version, sha256: "0".repeat(64), expires_at_ms: Date.now() });
  },
});
writeSync(2, `listening on 127.0.0.1:${server.port}\n`);
