/** A port that no other process takes, for a server that cannot report its own port or for a test without a server. */

import { createSocket } from "node:dgram";

/** Below the ports that Linux and macOS hand out by themselves, for connections and for `--port 0`. */
const [FIRST, LAST] = [15_000, 32_000];

export interface LeasedPort extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, where only the lessee may listen. */
  readonly url: string;
}

/**
 * Leases a TCP port of 127.0.0.1. The lease is the UDP port of the same number, which all tests that lease one hold
 * before they look at the TCP port.
 */
export async function leasePort(): Promise<LeasedPort> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const lease = await holdUdp(port);
    if (!lease) continue;
    if (isFree(port)) return { port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: lease };
    await lease();
  }
  throw new Error(`no port from ${FIRST} to ${LAST} is free`);
}

/** Resolves with what lets it go, or with nothing where somebody else has it. */
function holdUdp(port: number): Promise<(() => Promise<void>) | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => resolve(undefined));
    socket.bind({ address: "127.0.0.1", port, exclusive: true }, () =>
      resolve(() => new Promise<void>((closed) => socket.close(() => closed()))),
    );
  });
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
