/**
 * Running records as `mur` writes them, and real processes for them to name. A process is made within a test, and ended
 * with it, however the test ends.
 */

import { onTestFinished } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";

export interface RecordFields {
  readonly session_id: string;
  readonly pid: number;
  readonly process_start: string;
}

/** A whole record. */
export function recordOf(fields: RecordFields) {
  return {
    capsule_name: "local/worker",
    capsule_version: "0.1.0",
    workdir: "/tmp/work",
    started_at: "2026-01-01T00:00:00Z",
    url: "127.0.0.1:1",
    outlives_launcher: false,
    ...fields,
  };
}

export function writeRecord(home: string, fields: RecordFields): void {
  const directory = join(home, ".murmur", "running");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${fields.session_id}.json`), JSON.stringify(recordOf(fields)));
}

/** Linux: field 22 of the process's stat line, as `mur` records it. */
export function startTokenOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Gives what kills and reaps the child, after `before`. The end of the test does the same, if nobody did by then. */
function endWithTest(child: Bun.Subprocess, before = () => {}): () => Promise<void> {
  const end = async () => {
    before();
    child.kill("SIGKILL");
    await child.exited;
  };
  onTestFinished(end);
  return end;
}

/** A process that only waits; `end` kills and reaps it. */
export function sleeper(): { readonly pid: number; end(): Promise<void> } {
  const child = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "ignore", "ignore"] });
  return { pid: child.pid, end: endWithTest(child) };
}

/**
 * A process that becomes a zombie when `die` kills it, because its parent never waits for it. `end` ends its parent, and
 * with it the zombie.
 */
export async function zombie(): Promise<{ readonly pid: number; die(): void; end(): Promise<void> }> {
  const parent = Bun.spawn(["sh", "-c", "sleep 1000 & echo $!; exec sleep 1001"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let pid = 0;
  const die = () => {
    // Nobody else has its pid as long as its parent runs.
    if (pid > 0 && parent.exitCode === null && parent.signalCode === null) process.kill(pid, "SIGKILL");
  };
  const end = endWithTest(parent, die);
  const reader = parent.stdout.getReader();
  const { value } = await reader.read();
  pid = Number(new TextDecoder().decode(value).trim());
  // Until the shell has become the other sleep, it would wait for its child.
  await until(
    "the parent is a sleep",
    () => readFileSync(`/proc/${parent.pid}/comm`, "latin1") === "sleep\n",
  );
  return { pid, die, end };
}

/** A process whose main thread has ended while another one waits; `end` kills and reaps it. */
export async function withoutMainThread(): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const program = [
    "import ctypes, threading, time",
    "threading.Thread(target=time.sleep, args=(1000,)).start()",
    "ctypes.CDLL(None).pthread_exit(None)",
  ];
  const child = Bun.spawn(["python3", "-c", program.join("\n")], { stdio: ["ignore", "ignore", "ignore"] });
  const end = endWithTest(child);
  await until("its main thread has ended", () =>
    readFileSync(`/proc/${child.pid}/stat`, "latin1").includes(") Z "),
  );
  return { pid: child.pid, end };
}
