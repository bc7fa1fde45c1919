/** Out of file descriptors: the daemon goes on with what it has, and recovers. */

import { expect, test } from "bun:test";
import { connectRaw, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { until } from "../kit/until.ts";
import { ask, askSpawn, createHome, registerRoot, startCompiled, VERSION } from "./kit.ts";

const HEALTH = requestBytes({ path: "/health" });

test("with every descriptor in use it answers who is connected, and then everybody again", async () => {
  const home = await createHome();
  const daemon = await startCompiled(home, { prefix: ["sh", "-c", 'ulimit -n 64 && exec "$0" "$@"'] });
  const crowd: RawConnection[] = [];
  try {
    const credential = await registerRoot(daemon, "ses_root");
    const early = await connectRaw(daemon.port);
    early.send(HEALTH);
    expect((await early.answer())?.status).toBe(200);
    // Until one is accepted by nobody.
    for (let answered = true; answered; ) {
      const connection = await connectRaw(daemon.port);
      crowd.push(connection);
      connection.send(HEALTH);
      answered = await connection.answer({ deadlineMs: 1000 }).then(
        (answer) => answer?.status === 200,
        () => false,
      );
      if (crowd.length > 200) throw new Error("the limit of descriptors does not hold");
    }
    early.send(HEALTH);
    expect((await early.answer())?.body).toBe("{}");
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
      ask(daemon, "/health").then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    // The want of descriptors was no verdict about the artifact.
    await until("/spawn is granted again", async () => (await askSpawn(daemon, credential)).status === 200);
    expect(await daemon.stop()).toBe(0);
  } finally {
    for (const connection of crowd) connection.close();
    await daemon.kill("SIGKILL");
    home.remove();
  }
}, 40_000);
