/** What the arguments ask for: the daemon, its version, or a line about what is wrong with them. */

import { writeSync } from "node:fs";
import { runCommand } from "citty";
import { createCommand, type FlagsReading, usage } from "./cli/flags.ts";
import { type Daemon, startDaemon } from "./daemon.ts";
import { announce, stderrLines, writeLine } from "./log/stderr.ts";
import { describeOsError, isSystemError } from "./os-error.ts";
import { VERSION } from "./version.ts";

/** How long the last lines may take to be written. */
const LAST_LINES_MS = 1500;

/** @param warnings what could not be done to protect this process; shown when a daemon starts */
export async function runProgram(argv: string[], warnings: readonly string[]): Promise<void> {
  const command = createCommand(argv, (reading) => run(reading, warnings));
  await runCommand(command, { rawArgs: [] });
}

async function run(reading: FlagsReading, warnings: readonly string[]): Promise<void> {
  switch (reading.kind) {
    case "fault":
      announce(reading.fault);
      writeLine(usage());
      return exit(1);
    case "version":
      return exit(printVersion());
    case "run": {
      // Set up before the daemon says that it listens: a program that waits for that line may send a signal at once.
      let daemon: Daemon | undefined;
      let stopping = false;
      const stop = () => {
        // A second signal changes nothing.
        if (stopping) return;
        stopping = true;
        void (daemon?.stop() ?? stderrLines.finish(LAST_LINES_MS)).then(() => process.exit(0));
      };
      process.on("SIGTERM", stop);
      process.on("SIGINT", stop);
      for (const warning of warnings) announce(`warning: ${warning}`);
      const started = await startDaemon(reading.flags, process.env, () => stopping);
      if (!started.ok) {
        // A signal does not turn its status into 0.
        stopping = true;
        announce(started.fault);
        return exit(1);
      }
      daemon = started.value;
      return;
    }
    default:
      reading satisfies never;
  }
}

/** Exits once the last lines are written, or their time is up. */
async function exit(code: number): Promise<never> {
  await stderrLines.finish(LAST_LINES_MS);
  process.exit(code);
}

/** Returns the exit code: 1 if writing fails, but 0 if the reader went away. */
function printVersion(): number {
  const bytes = Buffer.from(`mur-roost ${VERSION}\n`);
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
    return 0;
  } catch (error) {
    if (isSystemError(error) && error.code === "EPIPE") return 0;
    writeLine(`error[E-IO-003]: failed to write to standard output: ${describeOsError(error)}`);
    return 1;
  }
}
