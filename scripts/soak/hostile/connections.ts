/** Connections of a neighbour that means no good: each does one thing, and is made anew whenever it ends. */

import type { Socket } from "bun";

/** What a connection does. Nothing is ever read of the answers, but to throw them away. */
export interface Behaviour {
  readonly connections: number;
  /** What it sends at once. */
  readonly first: () => string;
  /** What it sends every second after that. */
  readonly more?: () => string;
  /** Whether it sends the first thing again and again, as fast as the daemon takes it. */
  readonly floods?: true;
  /** Whether it takes no bytes from the daemon. */
  readonly deaf?: true;
  /** How long a connection that ended waits before it is made anew; milliseconds. */
  readonly pauseMs?: number;
}

/** Runs until the process ends. */
export function misbehave(
  port: number,
  { connections, first, more, floods, deaf, pauseMs = 5 }: Behaviour,
): void {
  const open = new Set<Socket>();
  const again = () => void setTimeout(connect, pauseMs);
  const connect = () => {
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open(socket) {
          open.add(socket);
          if (deaf) socket.pause();
          socket.write(first());
        },
        // What the last piece was cut off at does not matter: it is one request that is broken.
        drain(socket) {
          if (floods) socket.write(first());
        },
        data() {},
        close(socket) {
          open.delete(socket);
          again();
        },
        error() {},
      },
    }).catch(again);
  };
  for (let number = 0; number < connections; number++) connect();
  if (!more) return;
  setInterval(() => {
    for (const socket of open) socket.write(more());
  }, 1000);
}
