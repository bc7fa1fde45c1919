/** Connections that take every descriptor that the daemon has left. */

import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";

/** The daemon's limit of descriptors in the tests that use a crowd. */
export const LIMIT = 64;
/** Put before the executable. */
export const LIMITED = ["sh", "-c", `ulimit -n ${LIMIT} && exec "$0" "$@"`];

const HEALTH = requestBytes({ path: "/health" });

/** Asks for the daemon's health on a connection that it has accepted, and returns the status. */
export async function healthOn(connection: RawConnection): Promise<number | undefined> {
  connection.send(HEALTH);
  return (await connection.answer())?.status;
}

/**
 * Opens connections until the daemon accepts no more, and adds them to `crowd`. The last one has asked for the daemon's
 * health and waits in the queue of the listening socket.
 *
 * @param early a connection that the daemon accepted before
 */
export async function fill(port: number, crowd: RawConnection[], early: RawConnection): Promise<void> {
  for (;;) {
    const connection = await connectRaw(port);
    crowd.push(connection);
    connection.send(HEALTH);
    // Each of these answers is a turn of the daemon's loop: one accepts the newcomer if it can, one answers it.
    for (let turn = 0; turn < TURNS; turn++) {
      if ((await healthOn(early)) !== 200) throw new Error("the daemon does not answer an open connection");
    }
    await new Promise((received) => setImmediate(received));
    if (connection.rest() === "") return;
    if ((await connection.answer())?.status !== 200) throw new Error("the daemon does not answer a newcomer");
    if (crowd.length > LIMIT) throw new Error("the limit of descriptors does not hold");
  }
}

/** Twice as many as it takes. */
const TURNS = 6;
