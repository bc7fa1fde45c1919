/** Quotes what a child said inside a text that its launcher writes. */

import { printableLines } from "../../printable.ts";
import { type ArtifactName, bareName } from "../../registry/artifact-name.ts";
import type { LaunchFailure } from "../launch/outcome.ts";
import { fenceUntrusted, neutralise } from "./fence.ts";
import { cutText } from "./utf8.ts";

/** The longest quote, in bytes. With the launcher's text around it, it still fits the tool's output limit. */
const MAX_QUOTED_BYTES = 48 * 1024;

/** The source that a capsule's fence names: `delegation:worker`. */
export function sourceOf(name: ArtifactName): string {
  return `delegation:${bareName(name)}`;
}

/**
 * Text to append: what the child said, escaped and inside its own fence. Empty if the child said nothing.
 *
 * @param what names the quote: `its message`
 */
export function quoteChild(name: ArtifactName, what: string, said: string): string {
  if (said === "") return "";
  // Cut first, to spend no time on text that is not shown. Cut again, because escaping makes the text longer.
  const beginning = cutText(said, MAX_QUOTED_BYTES);
  const shown = cutText(printableLines(neutralise(beginning)), MAX_QUOTED_BYTES);
  return `\n${what}:\n${fenceUntrusted(sourceOf(name), shown)}`;
}

/** Why a launch failed, for a model or a trace: the launcher's reason, then the child's last lines. */
export function failureText(name: ArtifactName, { message, lastLines = [] }: LaunchFailure): string {
  return `${message}${quoteLines(name, lastLines)}`;
}

/** The last lines of a child's standard error. */
export function quoteLines(name: ArtifactName, lines: readonly string[]): string {
  return quoteChild(name, "last lines of its standard error", lines.join("\n"));
}
