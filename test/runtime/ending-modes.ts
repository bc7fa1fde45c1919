/** How a child's program ends, or is ended, in each of these modes (child-program.ts). */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { messageOf } from "../../src/os-error.ts";
import {
  announceReady,
  closeSession,
  type DoorUrl,
  endWithSpawner,
  Secret,
  type Session,
  serveTask,
} from "../../src/runtime/index.ts";
import { agent, details, forever, OPERATOR_TOKEN, open, say } from "./child-kit.ts";

function unclocked(session: Session): Session {
  const elapsed = () => {
    throw new Error("there is no clock");
  };
  return { ...session, clock: { ...session.clock, elapsed } };
}

export const ENDING_MODES = {
  /** A script whose session is closed by what leaves its scope: an exception. */
  "throwing-script": async () => {
    await using session = await open();
    await announceReady(session);
    throw new Error("the disk is full");
  },
  /** A script that leaves a result and closes its session as `failed` or `complete`. `early`: it follows no spawner. */
  "closing-script": async () => {
    const session = await open();
    if (details[1] !== "early") endWithSpawner(session, { kind: "script" });
    mkdirSync("out");
    writeFileSync("out/result.txt", "the answer");
    await announceReady(session);
    await closeSession(session, details[0] === "failed" ? "failed" : "complete");
  },
  /** One that closes its session as something that is no outcome. `unclocked`: it cannot tell how long it took. */
  "odd-script": async () => {
    const session = await open();
    await announceReady(session);
    await closeSession(details[0] === "unclocked" ? unclocked(session) : session, "done" as "complete");
  },
  /** An agent that serves a task, is not given one, and cannot report its end either. */
  "unclocked-agent": async () => {
    process.exit(
      await serveTask(unclocked(await open()), {
        run: async () => ({ status: "ok" }),
        signal: AbortSignal.abort(),
      }),
    );
  },
  /**
   * An agent whose program throws while it begins to serve: as its options are read (`signal`, `options`), as it hears of its door
   * (`door`), or as its first line is written (`line`). It says whether its door is still open.
   */
  "unready-agent": async () => {
    const throwsAt = (moment: string) => {
      if (details[0] === moment) throw new Error("the disk is full");
    };
    const session = await open();
    const stdout = async () => throwsAt("line");
    let door: DoorUrl | undefined;
    try {
      await serveTask(
        { ...session, output: { ...session.output, stdout } },
        {
          run: async () => ({ status: "ok" }),
          get signal() {
            throwsAt("signal");
            return new AbortController().signal;
          },
          get operatorToken() {
            throwsAt("options");
            return new Secret(OPERATOR_TOKEN);
          },
          onListening(url) {
            door = url;
            throwsAt("door");
          },
        },
      );
    } catch (error) {
      const isOpen =
        door !== undefined &&
        (await fetch(door)
          .then(() => true)
          .catch(() => false));
      process.stderr.write(`${messageOf(error)}, its door is ${isOpen ? "open" : "closed"}\n`);
      process.exit(6);
    }
  },
  /** An agent that has a door, and closes its session. */
  "closing-agent": async () => {
    const session = await open();
    await agent(session);
    mkdirSync(`${session.directories.records.path}/out`);
    writeFileSync(`${session.directories.records.path}/out/result.txt`, "the answer");
    mkdirSync("out");
    writeFileSync("out/result.txt", "a file of its work");
    await closeSession(session, "complete");
    process.exit(0);
  },
  /**
   * Open, and it has not said yet what a signal does. `own`: the program handles SIGTERM itself; `once`: with a handler that
   * was there before, and is called once.
   */
  open: async () => {
    const exit = () => setTimeout(() => process.exit(5), 1);
    if (details[0] === "once") process.once("SIGTERM", exit);
    await open();
    if (details[0] === "own") process.on("SIGTERM", exit);
    say("open\n");
    forever();
  },
  /** An agent whose wind-down fails. */
  "failing-agent": async () => {
    const session = await open();
    endWithSpawner(session, {
      kind: "agent",
      recordSpawnerEnded: () => {},
      windDown: () => {
        throw new Error("the disk is full");
      },
    });
    await announceReady(session);
    forever();
  },
  /**
   * An agent that has begun to wind down once the file `winding-down` is there, and has once `go` is there. `rereads`: the
   * program listens for SIGHUP itself, and says so.
   */
  "slow-agent": async () => {
    if (details[0] === "rereads") process.once("SIGHUP", () => say("read again\n"));
    const session = await open();
    endWithSpawner(session, {
      kind: "agent",
      recordSpawnerEnded: () => {},
      windDown: async () => {
        writeFileSync("winding-down", "");
        while (!existsSync("go")) await Bun.sleep(5);
        await closeSession(session, "complete");
        return 0;
      },
    });
    await announceReady(session);
    forever();
  },
};
