/** What a hostile or a broken worker does: each a plan that its test wrote, as JSON. */

import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { postToDoor } from "../../../src/runtime/delegation/own-end.ts";
import type { Session, TaskEnd } from "../../../src/runtime/index.ts";
import { type Output, processOutput } from "../../../src/runtime/output.ts";
import { allowTracing } from "./tracer.ts";

/** What it says of itself in the place of the truth; `$SESSION` in a text is its own session id. */
export interface ReadinessLies {
  readonly line: Readonly<Record<string, unknown>>;
  /** A directory that it fills as its records, an answer in it: bait for whoever believes the line. */
  readonly bait?: string;
}

/** The output of a worker that lies on its readiness line, where `plan` says how. */
export function liesOnReadiness(plan: string | undefined): { readonly output?: Output } {
  if (!plan) return {};
  const honest = processOutput();
  let told = false;
  return {
    output: {
      ...honest,
      async stdout(bytes) {
        if (told) return honest.stdout(bytes);
        told = true;
        const line = JSON.parse(Buffer.from(bytes).toString());
        const lies: ReadinessLies = JSON.parse(plan.replaceAll("$SESSION", line.session_id));
        const said = { ...line, ...lies.line };
        if (lies.bait) {
          mkdirSync(join(lies.bait, "out"), { recursive: true });
          writeFileSync(join(lies.bait, "out", "result.txt"), "bait");
          const { delegation_id } = JSON.parse(process.env.MURMUR_SPAWNER ?? "{}");
          const record = { delegation_id, session_id: said.session_id, status: "ok", duration_ms: 1 };
          writeFileSync(join(lies.bait, "completion.json"), JSON.stringify(record));
        }
        await honest.stdout(Buffer.from(`${JSON.stringify(said)}\n`));
      },
    },
  };
}

export interface Misdeeds {
  /** In the place of `out/result.txt`, or of `completion.json`. */
  readonly result?: Oddity;
  readonly recordIs?: Oddity;
  /** A record of its own making: what differs from a valid one. */
  readonly record?: Readonly<Record<string, unknown>>;
  /** Posts a completion. */
  readonly post?: boolean;
  /** Said after all of that. */
  readonly stderr?: string;
  /** Goes on once this file is there. */
  readonly until?: string;
  readonly lastly:
    | { readonly exit: number }
    | { readonly end: TaskEnd }
    /** Does not exit by itself, nor at SIGTERM. */
    | "stay"
    /** The same, but spoils its record at SIGTERM. */
    | "spoil";
}

export type Oddity =
  | { readonly kind: "file"; readonly text: string }
  | { readonly kind: "link"; readonly to: string }
  /** The folder that it lies in is a link. */
  | { readonly kind: "folder-link"; readonly to: string }
  | { readonly kind: "fifo" }
  | { readonly kind: "directory" }
  /** A process that outlives the worker goes on writing; its pid is in `pid`. */
  | { readonly kind: "endless"; readonly pid: string };

export async function misbehave(session: Session, plan: Misdeeds, signal: AbortSignal): Promise<TaskEnd> {
  const records = session.directories.records.path;
  // Before anything that its test can see, and end it for.
  if (plan.lastly === "stay" || plan.lastly === "spoil") {
    allowTracing();
    takeSigterm(() => {
      if (plan.lastly === "spoil") writeFileSync(join(records, "completion.json"), "spoilt");
    });
  }
  if (plan.result) put(join(records, "out"), "result.txt", plan.result);
  if (plan.recordIs) put(records, "completion.json", plan.recordIs);
  if (plan.record) {
    const whole = {
      delegation_id: session.spawner?.delegationId,
      session_id: session.id,
      status: "ok",
      duration_ms: 5,
      delivered: false,
      ...plan.record,
    };
    writeFileSync(join(records, "completion.json"), JSON.stringify(whole));
  }
  if (plan.post) await post(session);
  if (plan.stderr !== undefined) writeSync(2, plan.stderr);
  while (plan.until && !existsSync(plan.until)) await Bun.sleep(5);
  if (plan.lastly === "stay" || plan.lastly === "spoil") return await new Promise<TaskEnd>(() => void signal);
  if ("exit" in plan.lastly) process.exit(plan.lastly.exit);
  return plan.lastly.end;
}

/** Instead of all others. It is there before they go: a signal without a handler would end the process. */
function takeSigterm(handler: () => void): void {
  const others = process.listeners("SIGTERM");
  process.on("SIGTERM", handler);
  for (const other of others) process.off("SIGTERM", other);
}

function put(folder: string, name: string, what: Oddity): void {
  const path = join(folder, name);
  rmSync(path, { recursive: true, force: true });
  if (what.kind === "folder-link") symlinkSync(what.to, folder);
  else mkdirSync(folder, { recursive: true });
  if (what.kind === "file") writeFileSync(path, what.text);
  if (what.kind === "link") symlinkSync(what.to, path);
  if (what.kind === "directory") mkdirSync(path);
  if (what.kind === "fifo") Bun.spawnSync(["mkfifo", path]);
  if (what.kind === "endless") {
    // If nobody ends it, the system does after a minute of processor time.
    const writer = Bun.spawn(["sh", "-c", 'ulimit -t 60; while :; do echo more; done > "$0"', path], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    writer.unref();
    writeFileSync(what.pid, String(writer.pid));
    while (!existsSync(path) || statSync(path).size === 0) Bun.sleepSync(5);
  }
}

async function post({ spawner, id, run, directories, clock }: Session): Promise<void> {
  const send = spawner && postToDoor(spawner, clock);
  if (!send) throw new Error("there is nobody to post to");
  const identity = {
    name: run.name,
    version: run.version,
    delegationId: spawner.delegationId,
    sessionId: id,
    workdir: directories.workdir,
  };
  await send(identity, { status: "ok", durationMs: 5, reportedBy: "child" });
}
