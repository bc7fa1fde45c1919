/** The executable: flags in, exit code out; nothing else. */

import { writeSync } from "node:fs";
import { runCommand } from "citty";
import { createCommand, type FlagsReading, usage } from "./cli/flags.ts";
import { type Daemon, startDaemon } from "./daemon.ts";
import { announce, writeLine } from "./log/writer.ts";
import { describeOsError, isSystemError } from "./os-error.ts";
import { VERSION } from "./version.ts";

await runCommand(createCommand(run), { rawArgs: process.argv.slice(2) });

function run(reading: FlagsReading): void {
  switch (reading.kind) {
    case "fault":
      announce(reading.fault);
      writeLine(usage());
      process.exit(1);
      break;
    case "version":
      process.exit(printVersion());
      break;
    case "run": {
      // Before the daemon says that it listens: whoever waits for that may end it at once.
      let daemon: Daemon | undefined;
      const stop = () => void (daemon?.stop() ?? Promise.resolve()).then(() => process.exit(0));
      process.once("SIGTERM", stop);
      process.once("SIGINT", stop);
      const started = startDaemon(reading.flags, process.env);
      if (!started.ok) {
        announce(started.fault);
        process.exit(1);
      }
      daemon = started.daemon;
      break;
    }
    default:
      reading satisfies never;
  }
}

/** The exit code: a reader that went away is no failure, a disk that is full is one. */
function printVersion(): number {
  const bytes = Buffer.from(`mur-roost ${VERSION}\n`);
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
    return 0;
  } catch (error) {
    if (isSystemError(error) && error.code === "EPIPE") return 0;
    announce(`the version could not be written to standard output: ${describeOsError(error)}`);
    return 1;
  }
}
