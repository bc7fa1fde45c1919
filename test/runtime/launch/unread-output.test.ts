/** A parent whose own standard streams nobody reads goes on, and loses nothing that its children write. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compiled } from "../../kit/compiled.ts";
import { shared } from "../../kit/shared.ts";
import { fullPipe, type UnreadStream, unreadSocket, unreadTerminal } from "../../kit/unread.ts";
import { until } from "../../kit/until.ts";
import { PARENT, sharedWorld, WORKER } from "../parent.ts";
import { childBinary, runArguments } from "../world.ts";

const world = sharedWorld(async (made) => {
  await made.publish("local/parent", PARENT);
  await made.publish("local/worker", WORKER);
});
const program = shared(() => compiled(join(import.meta.dir, "unread-parent-program.ts")));
const child = shared(childBinary);

const BLOCKS = 32;

for (const [what, open] of [
  ["a terminal", unreadTerminal],
  ["a full pipe", fullPipe],
  ["a socket", unreadSocket],
] as const satisfies readonly (readonly [string, () => UnreadStream])[]) {
  test(`with ${what} that nobody reads, it continues, and all 2 MB from its child come through`, async () => {
    using stream = open();
    const workdir = join(world().workdir, "..", what.replaceAll(" ", "-"));
    const parent = Bun.spawn(
      [
        ...["sh", "-c", 'mkdir "$1" && shift && exec "$@"', "sh", workdir],
        ...[program(), ...runArguments(workdir), "--json"],
      ],
      {
        env: {
          PATH: process.env.PATH ?? "",
          HOME: world().home,
          MURMUR_ROOST_URL: world().roostUrl,
          MURMUR_MUR_BINARY: child(),
          CHILD_MODE: `floods-stdout:${BLOCKS}`,
        },
        stdio: ["ignore", stream.fd, stream.fd],
      },
    );
    try {
      const marks = () => {
        const path = join(workdir, "marks");
        return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
      };
      // Long after the stream is full.
      await until("the parent goes on", () => marks() > 50);
      let copied = "";
      await until("all of it was copied on", () => {
        copied += stream.take();
        return copied.includes("flooded");
      });
      expect(copied.replaceAll(/[^x]/g, "").length).toBe(BLOCKS * 65_536);
      parent.kill("SIGTERM");
      expect(await parent.exited).toBe(0);
    } finally {
      parent.kill("SIGKILL");
      await parent.exited;
    }
  });
}
