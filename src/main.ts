/** The executable: closes its process to others before it holds any secret, then runs the program. */

import { libraryFault } from "./sys/library.ts";
import {
  denyCoreDumps,
  denyInspection,
  ignoreTerminalStops,
  silenceCrashReporter,
} from "./sys/this-process.ts";

/** Variables that change how a compiled Bun executable runs. */
const RUNTIME_VARIABLES = ["BUN_OPTIONS", "BUN_INSPECT", "BUN_INSPECT_CONNECT_TO", "BUN_BE_BUN"] as const;

/**
 * Closes this process to debuggers, core dumps, crash reports and readers of its memory, and keeps terminals from stopping
 * it. A failure only causes a warning.
 *
 * @returns one sentence for each step that failed and each variable that is set
 */
function harden(environment: NodeJS.ProcessEnv): readonly string[] {
  const warnings: string[] = [];
  const missing = libraryFault();
  if (missing !== undefined) {
    warnings.push(
      `the C library cannot be called (${missing}): this host forbids memory that is written and then run, or limits the address space; the daemon runs without these protections`,
    );
  }
  if (!denyInspection()) warnings.push("this process could not be closed to other processes of its user");
  if (!denyCoreDumps()) warnings.push("core dumps of this process could not be switched off");
  if (!silenceCrashReporter()) warnings.push("the reporting of crashes could not be switched off");
  if (!ignoreTerminalStops()) warnings.push("a terminal set to `tostop` may stop this process");
  for (const name of RUNTIME_VARIABLES) {
    if (environment[name] !== undefined) {
      warnings.push(`${name} is set: it changes how this program runs, so unset it for the daemon`);
    }
  }
  return warnings;
}

// Before anything else is loaded: until then, another process of the same user may open this one's memory and keep it
// open. That is why the program itself is imported dynamically.
const warnings = harden(process.env);
const { runProgram } = await import("./program.ts");
await runProgram(process.argv.slice(2), warnings);
