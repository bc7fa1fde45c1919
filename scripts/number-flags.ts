/** Flags that take a number, of the commands that maintainers run. */

import { parseArgs } from "node:util";
import { messageOf } from "../src/os-error.ts";

/**
 * The whole number behind each flag, or its default: `--minutes 5`. Ends the process with one line and the usage if an
 * argument is unknown or no such number.
 */
export function readNumbers<Name extends string>(
  usage: string,
  defaults: Readonly<Record<Name, number>>,
  args: readonly string[] = process.argv.slice(2),
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  try {
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(names.map((name) => [name, { type: "string" } as const])),
    });
    const numbers: Record<Name, number> = { ...defaults };
    for (const name of names) {
      const text = values[name];
      if (text === undefined) continue;
      if (!/^\d{1,10}$/.test(String(text))) throw new Error(`--${name} takes a whole number`);
      numbers[name] = Number(text);
    }
    return numbers;
  } catch (error) {
    const [what] = messageOf(error).split("\n");
    process.stderr.write(`${what}\nusage: ${usage}\n`);
    process.exit(1);
  }
}
