/**
 * How the programs in this folder read their arguments: from left to right, and only flags spelt exactly as in a
 * program's table.
 */

import { printable } from "../printable.ts";

/** Thrown for a wrong argument. The message names it. */
export class ArgumentFault extends Error {}

/** The largest whole number that a bound can have. */
const MAX_WHOLE_NUMBER = 4294967295;

/**
 * Splits `--flag` or `--flag=value`. The flag must be in the table; a boolean one takes no `=value`.
 *
 * @throws ArgumentFault
 */
export function splitArgument<Name extends string>(
  flags: Readonly<Record<Name, { readonly type: string }>>,
  argument: string,
): { readonly name: Name; readonly inline: string | undefined } {
  const [, text, inline] = /^--([^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
  const name = (Object.keys(flags) as Name[]).find((known) => known === text);
  if (name === undefined || (flags[name].type === "boolean" && inline !== undefined)) {
    throw unknownArgument(argument);
  }
  return { name, inline };
}

export function unknownArgument(argument: string): ArgumentFault {
  return new ArgumentFault(`unknown argument: ${printable(argument)}`);
}

/** The fault of a wrong value: `invalid --flag: why`. */
export function invalid(name: string, why: string): ArgumentFault {
  return new ArgumentFault(`invalid --${name}: ${why}`);
}

/** @throws ArgumentFault */
export function wholeNumber(name: string, value: string, max = MAX_WHOLE_NUMBER): number {
  const number = /^[0-9]+$/.test(value) ? Number(value) : Number.NaN;
  if (number <= max) return number;
  throw invalid(name, `it takes a whole number from 0 to ${max}, not '${printable(value)}'`);
}

/** @throws ArgumentFault */
export function nonEmpty(name: string, value: string): string {
  if (value !== "") return value;
  throw invalid(name, "it must not be empty");
}

/** @throws ArgumentFault if no value follows */
export function takeValue(name: string, inline: string | undefined, rest: string[]): string {
  const value = inline ?? rest.shift();
  if (value !== undefined) return value;
  throw new ArgumentFault(`--${name} needs a value`);
}
