/** `npm run formation`: arguments in, a picture of a formation and an exit status out. */

import { readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { runCommand } from "citty";
import {
  changesText,
  compareFormations,
  type Formation,
  formationText,
  inspectFormation,
  inspectPair,
  isUnchanged,
  isWhollyGranted,
  pairText,
  parseFormation,
  renderDot,
  renderMermaid,
} from "../../formation/index.ts";
import { describeOsError } from "../../os-error.ts";
import { printable } from "../../printable.ts";
import {
  createFormationCommand,
  type Format,
  type FormationFlags,
  type FormationFlagsReading,
  formationUsage,
} from "./flags.ts";
import { writeAll } from "./output.ts";

/** Everything that is listed can be granted; with `--expect`, nothing changed. */
const GRANTED = 0;
/** Something cannot be granted; with `--expect`, something changed. */
const NOT_GRANTED = 1;
/** There is no answer: the arguments, the root or the expected formation cannot be read. */
const NO_ANSWER = 2;

/** The result of a task: lines for stdout and a status, or one sentence for stderr. */
type Outcome =
  | { readonly kind: "answer"; readonly lines: Iterable<string>; readonly status: number }
  | { readonly kind: "fault"; readonly fault: string };

await runCommand(createFormationCommand(run), { rawArgs: process.argv.slice(2) });

async function run(reading: FormationFlagsReading): Promise<void> {
  if (reading.kind === "fault") {
    say(reading.fault);
    process.stderr.write(`${formationUsage()}\n`);
    process.exitCode = NO_ANSWER;
    return;
  }
  const outcome = await perform(reading.flags).catch(unforeseen);
  if (outcome.kind === "fault") {
    say(outcome.fault);
    process.exitCode = NO_ANSWER;
    return;
  }
  const fault = await writeAll(outcome.lines);
  if (fault !== undefined) say(`the answer could not be written to standard output: ${fault}`);
  process.exitCode = fault === undefined ? outcome.status : NO_ANSWER;
}

function unforeseen(error: unknown): Outcome {
  return { kind: "fault", fault: describeOsError(error) };
}

function say(fault: string): void {
  process.stderr.write(`formation: ${printable(fault)}\n`);
}

async function perform({ task, registryPath, platform, limits }: FormationFlags): Promise<Outcome> {
  const registry = registryPath ?? defaultRegistry();
  if (registry === undefined) {
    return { kind: "fault", fault: "HOME is not an absolute path: give --registry-path" };
  }
  const where = { registryPath: resolve(registry), platform };
  const colour = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  switch (task.kind) {
    case "why": {
      const reading = await inspectPair({ ...where, parent: task.parent, child: task.child });
      if (!reading.ok) return { kind: "fault", fault: reading.fault };
      const { pair } = reading;
      const granted = pair.listed && pair.error === undefined;
      return { kind: "answer", lines: pairText(pair, { colour }), status: granted ? GRANTED : NOT_GRANTED };
    }
    case "expect": {
      const expected = readExpected(task.file);
      if (!expected.ok) return { kind: "fault", fault: expected.fault };
      const reading = await inspectFormation({ ...where, root: task.root, limits });
      if (!reading.ok) return { kind: "fault", fault: reading.fault };
      const changes = compareFormations(expected.formation, reading.formation);
      const status = isUnchanged(changes) ? GRANTED : NOT_GRANTED;
      return { kind: "answer", lines: changesText(changes, { colour }), status };
    }
    case "show": {
      const reading = await inspectFormation({ ...where, root: task.root, limits });
      if (!reading.ok) return { kind: "fault", fault: reading.fault };
      const { formation } = reading;
      const status = isWhollyGranted(formation) ? GRANTED : NOT_GRANTED;
      return { kind: "answer", lines: linesOf(formation, task.format, colour), status };
    }
    default:
      return task satisfies never;
  }
}

function defaultRegistry(): string | undefined {
  const home = process.env.HOME ?? "";
  return isAbsolute(home) ? join(home, ".murmur", "artifacts") : undefined;
}

function linesOf(formation: Formation, format: Format, colour: boolean): Iterable<string> {
  switch (format) {
    case "text":
      return formationText(formation, { colour });
    case "json":
      return [JSON.stringify(formation, undefined, 2)];
    case "mermaid":
      return [renderMermaid(formation).trimEnd()];
    case "dot":
      return [renderDot(formation).trimEnd()];
    default:
      return format satisfies never;
  }
}

function readExpected(file: string): ReturnType<typeof parseFormation> {
  try {
    const earlier = parseFormation(readFileSync(file, "utf8"));
    return earlier.ok ? earlier : { ok: false, fault: `--expect ${file}: ${earlier.fault}` };
  } catch (error) {
    return { ok: false, fault: `--expect ${file}: ${describeOsError(error)}` };
  }
}
