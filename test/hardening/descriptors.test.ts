/** Without free file descriptors the daemon keeps working with the ones it has, and recovers. */

import { expect, test } from "bun:test";
import { createFamily, manifestOf } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import { fill, healthOn, LIMITED } from "./crowd.ts";

test("with every descriptor in use it answers connected clients, and everybody once descriptors are free", async () => {
  await using host = await createFamily();
  const daemon = await host.start([], { prefix: LIMITED });
  const crowd: RawConnection[] = [];
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    const early = await connectRaw(daemon.port);
    expect(await healthOn(early)).toBe(200);
    await fill(daemon.port, crowd, [early]);
    // The artifact was never read; a descriptor was held back for it.
    early.send(
      requestBytes({
        method: "POST",
        path: "/spawn",
        headers: [["x-murmur-spawn-credential", credential]],
        body: JSON.stringify({ name: "local/child", version: VERSION }),
      }),
    );
    expect((await early.answer())?.status).toBe(200);
    for (const connection of crowd) connection.close();
    await until("/health is answered again", () =>
      daemon.caller.send("/health").then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    expect((await daemon.caller.spawn(credential, "local/child")).status).toBe(200);
    expect(await daemon.stop()).toBe(0);
  } finally {
    for (const connection of crowd) connection.close();
    await daemon.kill("SIGKILL");
  }
});

test("with zero to three descriptors free, new artifacts are read, several at once", async () => {
  await using host = await createFamily();
  const names = Array.from({ length: 16 }, (_, index) => `local/child-${index}`);
  await host.publishManifest(
    "local/parent",
    manifestOf("parent", `  spawn: {allow: [${names.join(", ")}]}\n`),
  );
  for (const name of names) await host.publishManifest(name, manifestOf(name.slice(6), ""));
  const daemon = await host.start(["--max-concurrent", "16", "--max-live-capsules", "32"], {
    prefix: LIMITED,
  });
  const crowd: RawConnection[] = [];
  try {
    const credential = await daemon.caller.credential("ses_root", "local/parent");
    const early = await Promise.all([0, 1, 2, 3].map(() => connectRaw(daemon.port)));
    for (const connection of early) expect(await healthOn(connection)).toBe(200);
    await fill(daemon.port, crowd, early);
    // The one that was not accepted.
    crowd.pop()?.close();
    const headers = [["x-murmur-spawn-credential", credential]] as const;
    for (let free = 0; free <= 3; free++) {
      if (free > 0) crowd.pop()?.close();
      // The daemon sees that it has gone before it answers all of these.
      for (const connection of early) expect(await healthOn(connection)).toBe(200);
      for (const connection of early) {
        const body = JSON.stringify({ name: names.pop(), version: VERSION });
        connection.send(requestBytes({ method: "POST", path: "/spawn", headers, body }));
      }
      const answers = await Promise.all(early.map((connection) => connection.answer()));
      expect(answers.map((answer) => [free, answer?.status])).toEqual(early.map(() => [free, 200]));
    }
    crowd.push(...early);
    expect(await daemon.stop()).toBe(0);
  } finally {
    for (const connection of crowd) connection.close();
    await daemon.kill("SIGKILL");
  }
});
