/** With a handful of descriptors left, the daemon answers its open connections, for any request, and keeps running. */

import { expect, test } from "bun:test";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import { fill, healthOn, LIMITED } from "./crowd.ts";

const ASKING = 5;

const host = sharedFamily(async (family) => {
  const variables = Array.from({ length: 400 }, (_, index) => `VAR_${index}`).join(", ");
  for (let index = 0; index < ASKING; index++) {
    const manifest = manifestOf("large", `  env: {allow: [${variables}]}\n`);
    await family.publishManifest(`local/large-${index}`, manifest);
  }
});

test.each([0, 1, 2, 3, 4])("with about %d descriptors free, open connections are answered", async (free) => {
  const daemon = await host().start([], { prefix: LIMITED });
  const asking: RawConnection[] = [];
  const crowd: RawConnection[] = [];
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    for (let index = 0; index < ASKING; index++) {
      const connection = await connectRaw(daemon.port);
      asking.push(connection);
      expect(await healthOn(connection)).toBe(200);
    }
    await fill(daemon.port, crowd, asking);
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
      expect(await healthOn(connection)).toBe(200);
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
