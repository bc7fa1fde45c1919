/** What the modes of a child's program share (child-program.ts). */

import { writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import {
  announceReady,
  closeSession,
  type DoorUrl,
  describeRefusal,
  endWithSpawner,
  openSession,
  parseDoorUrl,
  Secret,
  type Session,
} from "../../src/runtime/index.ts";

export const [kind = "", ...details] = (process.env.CHILD_MODE ?? "").split(":");
export const say = (text: string) => void writeSync(1, text);

/** A token that the tests look for where it must not be. */
export const OPERATOR_TOKEN = "operator-token-0123456789abcdef";

export function forever(): void {
  setInterval(() => {}, 1 << 30);
}

export async function open(): Promise<Session> {
  const session = await openSession();
  if (!session.ok) {
    process.stderr.write(`${describeRefusal(session.fault)}\n`);
    process.exit(1);
  }
  return session.value;
}

export async function door(): Promise<DoorUrl | undefined> {
  const server = createServer((_, response) => void response.end("{}"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  return typeof address === "object" && address
    ? parseDoorUrl(`http://127.0.0.1:${address.port}`)
    : undefined;
}

/** An agent child: ready, and alive until it is told to end. */
export async function agent(session: Session): Promise<void> {
  endWithSpawner(session, {
    kind: "agent",
    recordSpawnerEnded: () => {
      writeFileSync(`${session.directories.records.path}/trace.jsonl`, '{"event":"spawner_ended"}\n', {
        flag: "a",
      });
      session.diagnose("the spawner has ended");
    },
    windDown: async () => {
      await closeSession(session, "complete");
      return 0;
    },
  });
  await announceReady(session, await door(), new Secret(OPERATOR_TOKEN));
}
