/** Out of file descriptors: the daemon goes on with what it has, and recovers. */

import { expect, test } from "bun:test";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import { createFamily } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";

const HEALTH = requestBytes({ path: "/health" });

const LIMIT = 64;

test("with every descriptor in use it answers who is connected, and then everybody again", async () => {
  await using host = await createFamily();
  const daemon = await host.start([], { prefix: ["sh", "-c", `ulimit -n ${LIMIT} && exec "$0" "$@"`] });
  const crowd: RawConnection[] = [];
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    const early = await connectRaw(daemon.port);
    early.send(HEALTH);
    expect((await early.answer())?.status).toBe(200);
    for (let count = 0; count < LIMIT; count++) {
      const connection = await connectRaw(daemon.port);
      crowd.push(connection);
      // Nobody who has sent nothing is accepted.
      connection.send(HEALTH);
    }
    // Each answer is a turn of the daemon's loop, in which it accepts whom it can: after a few it can accept nobody.
    for (let turn = 0; turn < 3; turn++) {
      early.send(HEALTH);
      expect((await early.answer())?.body).toBe("{}");
    }
    // The artifact was never read, and cannot be read now.
    early.send(
      requestBytes({
        method: "POST",
        path: "/spawn",
        headers: [["x-murmur-spawn-credential", credential]],
        body: JSON.stringify({ name: "local/child", version: VERSION }),
      }),
    );
    const starved = await early.answer();
    expect(starved?.status).toBe(500);
    expect(JSON.parse(starved?.body ?? "").error).toContain("Too many open files");
    for (const connection of crowd) connection.close();
    await until("/health is answered again", () =>
      daemon.caller.send("/health").then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    // The want of descriptors was no verdict about the artifact.
    await until(
      "/spawn is granted again",
      async () => (await daemon.caller.spawn(credential, "local/child")).status === 200,
    );
    expect(await daemon.stop()).toBe(0);
  } finally {
    for (const connection of crowd) connection.close();
    await daemon.kill("SIGKILL");
  }
});
