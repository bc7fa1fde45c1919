/** Connections of a hostile neighbour. Each does one thing, and is opened again whenever it ends. */

import type { Socket } from "bun";

/** What a connection does. Answers are discarded. */
export interface Behaviour {
  readonly connections: number;
  /** What it sends first. */
  readonly first: () => string;
  /** What it sends every second after that. */
  readonly more?: () => string;
  /** Whether it repeats `first` as fast as the daemon takes it. */
  readonly floods?: true;
  /** Whether it never reads from the daemon. */
  readonly deaf?: true;
  /** How long to wait before an ended connection is opened again, in milliseconds. */
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
        // It does not matter where the last write was cut off: that breaks only one request.
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
