/**
 * A capsule's program for tests: keeps the contract of a delegated child, and breaks it where `CHILD_MODE` says how.
 * `CHILD_MODE` reaches it because both manifests allow the name.
 */

import {
  closeSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import {
  announceReady,
  canDelegate,
  closeSession,
  commandEnvironment,
  type DoorUrl,
  describeRefusal,
  endWithSpawner,
  launch,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
  parseDoorUrl,
  Secret,
  type Session,
} from "../../src/runtime/index.ts";

const mode = process.env.CHILD_MODE ?? "";
const [kind = "", ...details] = mode.split(":");
const say = (text: string) => void writeSync(1, text);

/** A token that the tests look for where it must not be. */
export const OPERATOR_TOKEN = "operator-token-0123456789abcdef";

function forever(): void {
  setInterval(() => {}, 1 << 30);
}

/** What this process was given, for the test to read. */
function report(path: string): void {
  const descriptors =
    process.platform === "linux"
      ? readdirSync("/proc/self/fd").map((number) => {
          try {
            return `${number} ${readlinkSync(`/proc/self/fd/${number}`)}`;
          } catch {
            return number;
          }
        })
      : [];
  const args = process.argv.slice(2);
  const cwd = process.cwd();
  writeFileSync(path, JSON.stringify({ env: process.env, args, cwd, descriptors, pid: process.pid }));
}

async function open(): Promise<Session> {
  const session = await openSession();
  if (!session.ok) {
    process.stderr.write(`${describeRefusal(session.fault)}\n`);
    process.exit(1);
  }
  return session.value;
}

async function door(): Promise<DoorUrl | undefined> {
  const server = createServer((_, response) => void response.end("{}"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  return typeof address === "object" && address
    ? parseDoorUrl(`http://127.0.0.1:${address.port}`)
    : undefined;
}

/** An agent child: ready, and alive until it is told to end. */
async function agent(session: Session): Promise<void> {
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

/** Starts the same capsule below itself; the file `levels` in the home says how often that goes on. */
async function chain(session: Session): Promise<void> {
  const path = join(session.directories.home.path, "levels");
  const below = Number(readFileSync(path, "utf8"));
  writeFileSync(path, String(below - 1));
  if (below > 0) await launchWorker(session);
  await agent(session);
}

async function launchWorker(session: Session): Promise<void> {
  const name = parseArtifactName("local/worker");
  const version = parseArtifactVersion("0.1.0");
  if (!name || !version || !canDelegate(session)) throw new Error("nothing can be launched from here");
  const outcome = await launch(session, { name, version, contextId: "ctx_chain" });
  if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
}

const modes: Record<string, () => void | Promise<void>> = {
  agent: async () => agent(await open()),
  report: async () => {
    report("given.json");
    await agent(await open());
  },
  script: async () => {
    const session = await open();
    endWithSpawner(session, { kind: "script" });
    writeFileSync("result-of-run.txt", "done");
    await announceReady(session);
    await closeSession(session, "complete");
  },
  /** A script that leaves a result and closes its session as `failed` or `complete`. `early`: it follows no spawner. */
  /** A script whose session is closed by what leaves its scope: an exception. */
  "throwing-script": async () => {
    await using session = await open();
    await announceReady(session);
    throw new Error("the disk is full");
  },
  "closing-script": async () => {
    const session = await open();
    if (details[1] !== "early") endWithSpawner(session, { kind: "script" });
    mkdirSync("out");
    writeFileSync("out/result.txt", "the answer");
    await announceReady(session);
    await closeSession(session, details[0] === "failed" ? "failed" : "complete");
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
  /** A script whose run does not end: idle, or busy where it is told so. One that nobody launched launches two such. */
  "long-script": async () => {
    const session = await open();
    if (!session.spawner && canDelegate(session)) {
      for (let i = 0; i < 2; i++) await launchWorker(session);
      return agent(session);
    }
    endWithSpawner(session, { kind: "script" });
    await announceReady(session);
    if (details[0] === "busy") for (;;);
    forever();
  },
  chain: async () => chain(await open()),
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
  /** An agent that has begun to wind down once the file `winding-down` is there, and has once `go` is there. */
  "slow-agent": async () => {
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
  siblings: async () => {
    const session = await open();
    // The children's own mode is the parent's: those that were launched are plain agents.
    if (!session.spawner) for (let i = 0; i < 4; i++) await launchWorker(session);
    await agent(session);
  },
  commands: async () => {
    const session = await open();
    const env = commandEnvironment(process.env, {
      sessionId: session.id,
      runtimeDirectory: session.directories.runtime.path,
    });
    const listed = Bun.spawnSync(["sh", "-c", "env; ls -l /proc/$$/fd"], { env });
    writeFileSync("command.txt", listed.stdout);
    await agent(session);
  },
  exit: () => {
    writeSync(2, `first words\nlast words\n`);
    process.exit(Number(details[0]));
  },
  "exits-at": async () => {
    const [step] = details;
    if (step === "unread-input") closeSync(0);
    if (step === "input") readFileSync(0);
    if (step === "registered") await open();
    if (step === "half-a-line") say('{"session_id":"ses_half"');
    process.exit(6);
  },
  killed: () => void process.kill(process.pid, "SIGKILL"),
  silent: forever,
  "closes-stdout": () => {
    closeSync(1);
    forever();
  },
  says: () => {
    say(`${details.join(":")}\n`);
    forever();
  },
  endless: () => {
    for (let i = 0; i < 100; i++) say("x".repeat(65_536));
    forever();
  },
  "leaves-grandchild": () => {
    const left = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "inherit", "inherit"] });
    writeFileSync("left.pid", String(left.pid));
    writeSync(2, "left a grandchild\n");
    process.exit(4);
  },
  "floods-stdout": async () => {
    const session = await open();
    await agent(session);
    const blocks = Number(details[0] ?? 400);
    for (let i = 0; i < blocks; i++) await session.output.stdout(Buffer.alloc(65_536, "x"));
    await session.output.stdout(Buffer.from("\nflooded\n"));
  },
  "echoes-tokens": async () => {
    // What a careless or hostile child does with what it was handed.
    const approval = readFileSync(0, "utf8").trim();
    for (let i = 0; i < 200; i++) writeSync(2, `${"n".repeat(i * 41)} ${approval} ${OPERATOR_TOKEN}\n`);
    if (details[0] === "fail") process.exit(5);
    say(`${JSON.stringify({ session_id: "ses_echo", url: "", tokens: { operator: OPERATOR_TOKEN } })}\n`);
    for (let i = 0; i < 200; i++) say(`${approval}${OPERATOR_TOKEN}\n`);
    for (let i = 0; i < 200; i++) writeSync(2, `${approval}${OPERATOR_TOKEN}\n`);
    say("echoed\n");
    forever();
  },
  "ignores-sigterm": async () => {
    const session = await open();
    process.on("SIGTERM", () => {});
    await announceReady(session, await door());
  },
  throws: () => {
    throw new Error("an exception nobody caught");
  },
};

await modes[kind]?.();
