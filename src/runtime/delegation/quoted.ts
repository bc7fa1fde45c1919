/** What a child said, within a text of its launcher's. */

import { printableLines } from "../../printable.ts";
import { type ArtifactName, bareName } from "../../registry/artifact-name.ts";
import type { LaunchFailure } from "../launch/outcome.ts";
import { fenceUntrusted, neutralise } from "./fence.ts";
import { cutText } from "./utf8.ts";

/** The longest that is quoted, in bytes: with the launcher's own words it fits what a call gives the model. */
const MAX_QUOTED_BYTES = 48 * 1024;

/** How a capsule's fence names its source: `delegation:worker`. */
export function sourceOf(name: ArtifactName): string {
  return `delegation:${bareName(name)}`;
}

/**
 * The end of a text: what the child said, inside its own fence and escaped. Nothing where it said nothing.
 *
 * @param what what its words are: `its message`
 */
export function quoteChild(name: ArtifactName, what: string, said: string): string {
  if (said === "") return "";
  // Cut before, so that no time is spent on what is not shown; and after, as what is escaped grows.
  const beginning = cutText(said, MAX_QUOTED_BYTES);
  const shown = cutText(printableLines(neutralise(beginning)), MAX_QUOTED_BYTES);
  return `\n${what}:\n${fenceUntrusted(sourceOf(name), shown)}`;
}

/** Why a launch failed, for a model or a trace: the launcher's words, and what the child wrote last. */
export function failureText(name: ArtifactName, { message, lastLines = [] }: LaunchFailure): string {
  return `${message}${quoteLines(name, lastLines)}`;
}

/** The last lines of a child's standard error. */
export function quoteLines(name: ArtifactName, lines: readonly string[]): string {
  return quoteChild(name, "last lines of its standard error", lines.join("\n"));
}
