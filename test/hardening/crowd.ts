/** Connections that take every descriptor that the daemon has left. */

import { expect } from "bun:test";
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
 * health and waits in the queue of the listening socket; all the others have been answered.
 *
 * @param early connections that the daemon accepted before
 */
export async function fill(
  port: number,
  crowd: RawConnection[],
  early: readonly RawConnection[],
): Promise<void> {
  // The daemon closes a connection that asks nothing for some seconds, so most of them come together.
  await Promise.all(Array.from({ length: TOGETHER }, async () => crowd.push(await connectRaw(port))));
  await expectHealth(crowd);
  for (let asked = 0; ; ) {
    const held = [...early, ...crowd];
    const connection = await connectRaw(port);
    crowd.push(connection);
    connection.send(HEALTH);
    // Each of these answers is a turn of the daemon's loop: one accepts the newcomer if it can, one answers it.
    for (let turn = 0; turn < TURNS; turn++) {
      const next = held[asked++ % held.length];
      if (next) await expectHealth([next]);
    }
    await new Promise((received) => setImmediate(received));
    if (connection.rest() === "") {
      expect(crowd.length).toBeGreaterThan(LIMIT / 2);
      await expectHealth(held);
      return;
    }
    if ((await connection.answer())?.status !== 200) throw new Error("the daemon does not answer a newcomer");
    if (crowd.length > LIMIT) throw new Error("the limit of descriptors does not hold");
  }
}

/** Twice as many as it takes. */
const TURNS = 6;
/** So many are accepted in any case. */
const TOGETHER = 30;

async function expectHealth(connections: readonly RawConnection[]): Promise<void> {
  const statuses = await Promise.all(connections.map(healthOn));
  expect(statuses).toEqual(connections.map(() => 200));
}
