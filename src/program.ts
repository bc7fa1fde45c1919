/** What the arguments ask for: the daemon, its version, or a line about what is wrong with them. */

import { writeSync } from "node:fs";
import { runCommand } from "citty";
import { createCommand, type FlagsReading, usage } from "./cli/flags.ts";
import { type Daemon, startDaemon } from "./daemon.ts";
import { announce, stderrLines, writeLine } from "./log/stderr.ts";
import { describeOsError, isSystemError } from "./os-error.ts";
import { VERSION } from "./version.ts";

/** How long a line about the end may take to be written. */
const LAST_LINES_MS = 1500;

/** @param warnings what could not be done for the safety of this process, for the operator of a daemon */
export async function runProgram(argv: string[], warnings: readonly string[]): Promise<void> {
  await runCommand(
    createCommand((reading) => run(reading, warnings)),
    { rawArgs: argv },
  );
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
      // Before the daemon says that it listens: a program that waits for that line may end it at once.
      let daemon: Daemon | undefined;
      let stopping = false;
      const stop = () => {
        // A second signal changes nothing.
        if (stopping) return;
        stopping = true;
        void (daemon?.stop() ?? Promise.resolve()).then(() => process.exit(0));
      };
      process.on("SIGTERM", stop);
      process.on("SIGINT", stop);
      for (const warning of warnings) announce(`warning: ${warning}`);
      const started = startDaemon(reading.flags, process.env);
      if (!started.ok) {
        announce(started.fault);
        return exit(1);
      }
      daemon = started.daemon;
      return;
    }
    default:
      reading satisfies never;
  }
}

/** Ends the program once its last lines are written, or cannot be. */
async function exit(code: number): Promise<never> {
  await stderrLines.finish(LAST_LINES_MS);
  process.exit(code);
}

/** The exit code: a reader that went away is no failure, a disk that is full is one. */
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
