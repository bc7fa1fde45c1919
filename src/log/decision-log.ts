/** The decision log on stderr: one line for each grant, refusal, registration and retirement. */

import { type ConsolaInstance, createConsola, LogLevels } from "consola/core";
import { printable } from "../printable.ts";
import { tokenId } from "./token-id.ts";
import { LineBuffer } from "./writer.ts";

/** Fields of one line, in the order they are written; absent ones are left out. */
export type LogFields = Readonly<Record<string, string | number | undefined>>;

export interface DecisionLog {
  granted(fields: LogFields): void;
  refused(fields: LogFields): void;
  /** A fault of the daemon itself. */
  failed(fields: LogFields): void;
  /** Writes out what is still held, as far as stderr takes it. */
  flush(): void;
}

/** The level in consola's own variable, `CONSOLA_LEVEL`, where it is a number; else consola's default. */
function levelFrom(environment: NodeJS.ProcessEnv): number {
  const text = environment.CONSOLA_LEVEL?.trim() ?? "";
  return /^-?[0-9]+$/.test(text) ? Number(text) : LogLevels.info;
}

export function createDecisionLog(environment: NodeJS.ProcessEnv): DecisionLog {
  const lines = new LineBuffer(
    (count) => `${new Date().toISOString()} warn ${formatFields({ event: "log-lines-dropped", count })}\n`,
  );
  const consola: ConsolaInstance = createConsola({
    level: levelFrom(environment),
    // consola folds lines that repeat; each decision is one of its own.
    throttle: 0,
    reporters: [
      { log: ({ date, type, args }) => lines.add(`${date.toISOString()} ${type} ${String(args[0])}\n`) },
    ],
  });
  return {
    granted(fields) {
      if (consola.level >= LogLevels.info) consola.info(formatFields(fields));
    },
    refused(fields) {
      if (consola.level >= LogLevels.warn) consola.warn(formatFields(fields));
    },
    failed: (fields) => consola.error(formatFields(fields)),
    flush: () => lines.flush(),
  };
}

/** `key=value` pairs; a value that is not plainly one word is quoted and escaped, so that no text can forge a line. */
export function formatFields(fields: LogFields): string {
  let line = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    line += `${line === "" ? "" : " "}${key}=${typeof value === "number" ? value : formatText(value)}`;
  }
  return line;
}

const PLAIN = /^[A-Za-z0-9_./:@+-]{1,256}$/;
const MAX_TEXT_CHARACTERS = 1024;

/** A token that was sent where none belongs: in a path, as a session's id, as a version. */
const MISPLACED_TOKEN = /ms[ac]1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g;

function formatText(whole: string): string {
  const text = whole.includes("1.")
    ? whole.replace(MISPLACED_TOKEN, (token) => `token:${tokenId(token)}`)
    : whole;
  if (PLAIN.test(text)) return text;
  const shown = text.length > MAX_TEXT_CHARACTERS ? `${text.slice(0, MAX_TEXT_CHARACTERS)}…` : text;
  return printable(JSON.stringify(shown));
}
