/** `npm run formation`: arguments in, a picture of a formation and an exit status out. */

import { readFileSync } from "node:fs";
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
import { writeAll } from "../standard-output.ts";
import { defaultRegistry, userPath } from "../user-paths.ts";
import {
  type Format,
  type FormationFlags,
  type FormationFlagsReading,
  formationUsage,
  readFormationFlags,
} from "./flags.ts";

/** Everything that is listed down to `--max-depth` can be granted; with `--expect`, nothing changed. */
const GRANTED = 0;
/** Something cannot be granted; with `--expect`, something changed. */
const NOT_GRANTED = 1;
/** There is no answer: the arguments, the root or the expected formation cannot be read. */
const NO_ANSWER = 2;

/** The result of a task: lines for stdout and a status, or one sentence for stderr. */
type Outcome =
  | { readonly ok: true; readonly lines: Iterable<string>; readonly status: number }
  | { readonly ok: false; readonly fault: string };

await run(readFormationFlags(process.argv.slice(2)));

async function run(reading: FormationFlagsReading): Promise<void> {
  if (reading.kind === "fault") {
    fail(reading.fault);
    process.stderr.write(`${formationUsage()}\n`);
    return;
  }
  const outcome = await perform(reading.flags).catch(unforeseen);
  if (!outcome.ok) return fail(outcome.fault);
  const fault = await writeAll(outcome.lines);
  if (fault !== undefined) return fail(`the answer could not be written to standard output: ${fault}`);
  process.exitCode = outcome.status;
}

function fail(fault: string): void {
  process.stderr.write(`formation: ${printable(fault)}\n`);
  process.exitCode = NO_ANSWER;
}

function unforeseen(error: unknown): Outcome {
  return { ok: false, fault: describeOsError(error) };
}

async function perform({ task, registryPath, platform, limits }: FormationFlags): Promise<Outcome> {
  const registry = registryPath ?? defaultRegistry();
  if (registry === undefined) {
    return { ok: false, fault: "HOME is not an absolute path: give --registry-path" };
  }
  const where = { registryPath: userPath(registry), platform };
  const colour = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR;
  const answer = (lines: Iterable<string>, isGood: boolean): Outcome => ({
    ok: true,
    lines,
    status: isGood ? GRANTED : NOT_GRANTED,
  });
  switch (task.kind) {
    case "why": {
      const reading = await inspectPair({ ...where, parent: task.parent, child: task.child });
      if (!reading.ok) return reading;
      const { pair } = reading;
      return answer(pairText(pair, { colour }), pair.listed && pair.error === undefined);
    }
    case "expect": {
      const expected = readExpected(task.file);
      if (!expected.ok) return expected;
      const reading = await inspectFormation({ ...where, root: task.root, limits });
      if (!reading.ok) return reading;
      const changes = compareFormations(expected.formation, reading.formation);
      return answer(changesText(changes, { colour }), isUnchanged(changes));
    }
    case "show": {
      const reading = await inspectFormation({ ...where, root: task.root, limits });
      if (!reading.ok) return reading;
      const { formation } = reading;
      return answer(linesOf(formation, task.format, colour), isWhollyGranted(formation));
    }
    default:
      return task satisfies never;
  }
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
    const earlier = parseFormation(readFileSync(userPath(file), "utf8"));
    return earlier.ok ? earlier : { ok: false, fault: `--expect ${file}: ${earlier.fault}` };
  } catch (error) {
    return { ok: false, fault: `--expect ${file}: ${describeOsError(error)}` };
  }
}
