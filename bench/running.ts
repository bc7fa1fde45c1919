/** Running records of capsules that started before the daemon, and processes for them. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../src/census/process-identity.ts";

const processes: Bun.Subprocess[] = [];

/** Ends every process that acted as a capsule. */
export async function endSurvivors(): Promise<void> {
  for (const child of processes) child.kill("SIGKILL");
  await Promise.all(processes.splice(0).map((child) => child.exited));
}

/** Writes records into a home: `live` of them name running processes, the others are stale. Linux only. */
export function writeSurvivors(
  home: string,
  { records, live }: { readonly records: number; readonly live: number },
): void {
  while (processes.length < live) {
    processes.push(Bun.spawn(["sleep", "3600"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }));
  }
  for (let index = 0; index < records; index++) {
    const pid = index < live ? (processes[index]?.pid ?? 0) : 0;
    const sessionId = `ses_02b000c58eae7ca0${index.toString(16).padStart(16, "0")}`;
    const record = {
      session_id: sessionId,
      pid,
      process_start: pid === 0 ? "1" : startToken(pid),
      capsule_name: "researcher",
      capsule_version: "1.0.0",
      workdir: "/home/you/work",
      started_at: "2026-01-01T00:00:00Z",
      outlives_launcher: false,
    };
    writeFileSync(join(home, ".murmur/running", `${sessionId}.json`), JSON.stringify(record));
  }
}

function startToken(pid: number): string {
  const reading = readProcess(pid);
  return reading.held ? (reading.startToken ?? "") : "";
}
