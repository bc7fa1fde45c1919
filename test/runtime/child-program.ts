/**
 * A capsule's program for tests: keeps the contract of a delegated child, and breaks it where `CHILD_MODE` says how.
 * `CHILD_MODE` reaches it because both manifests allow the name.
 */

import { closeSync, readdirSync, readFileSync, readlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  announceReady,
  canDelegate,
  closeSession,
  commandEnvironment,
  endWithSpawner,
  launch,
  parseArtifactName,
  parseArtifactVersion,
  type Session,
} from "../../src/runtime/index.ts";
import { agent, details, door, forever, kind, OPERATOR_TOKEN, open, say } from "./child-kit.ts";
import { ENDING_MODES } from "./ending-modes.ts";

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
  ...ENDING_MODES,
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
    writeFileSync(`${process.env.HOME}/closed`, "");
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
