/** With a handful of descriptors left, the daemon answers its open connections, for any request, and keeps running. */

import { expect, test } from "bun:test";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";

const HEALTH = requestBytes({ path: "/health" });
const LIMIT = 64;
const ASKING = 5;

const host = sharedFamily(async (family) => {
  const variables = Array.from({ length: 400 }, (_, index) => `VAR_${index}`).join(", ");
  for (let index = 0; index < ASKING; index++) {
    const manifest = manifestOf("large", `  env: {allow: [${variables}]}\n`);
    await family.publishManifest(`local/large-${index}`, manifest);
  }
});

/** Connections that each sent one byte, until one of them is not accepted any more. */
async function crowdOf(daemon: { readonly port: number }): Promise<RawConnection[]> {
  const crowd: RawConnection[] = [];
  for (let accepted = true; accepted; ) {
    const connection = await connectRaw(daemon.port);
    crowd.push(connection);
    connection.send(HEALTH);
    accepted = await connection.answer({ deadlineMs: 1000 }).then(
      (answer) => answer?.status === 200,
      () => false,
    );
    if (crowd.length > LIMIT) throw new Error("the limit of descriptors does not hold");
  }
  return crowd;
}

test.each([0, 1, 2, 3, 4])("with about %d of them free", async (free) => {
  const daemon = await host().start([], {
    prefix: ["sh", "-c", `ulimit -n ${LIMIT} && exec "$0" "$@"`],
  });
  const asking: RawConnection[] = [];
  let crowd: RawConnection[] = [];
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    for (let index = 0; index < ASKING; index++) {
      const connection = await connectRaw(daemon.port);
      connection.send(HEALTH);
      expect((await connection.answer())?.status).toBe(200);
      asking.push(connection);
    }
    crowd = await crowdOf(daemon);
    // The one that was not accepted takes the place of the first that leaves.
    for (let left = 0; left <= free; left++) crowd.shift()?.close();
    await until("the last one is accepted", async () => (await crowd.at(-1)?.answer())?.status === 200);
    // Each an artifact that was never read, all at once.
    for (const [index, connection] of asking.entries()) {
      connection.send(
        requestBytes({
          method: "POST",
          path: "/register",
          headers: [["x-murmur-spawn-approval", "msa1.x.y"]],
          body: JSON.stringify({
            session_id: `ses_${index}`,
            name: `local/large-${index}`,
            version: VERSION,
          }),
        }),
      );
    }
    for (const connection of asking) {
      // Read, in the place of a descriptor that was held back, and not verified.
      expect((await connection.answer())?.status).toBe(403);
      connection.send(HEALTH);
      expect((await connection.answer())?.status).toBe(200);
    }
    for (const connection of crowd) connection.close();
    await until("newcomers are answered", async () =>
      daemon.caller.deregister(credential).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    expect(await daemon.stop()).toBe(0);
  } finally {
    for (const connection of [...asking, ...crowd]) connection.close();
    await daemon.kill("SIGKILL");
  }
});
