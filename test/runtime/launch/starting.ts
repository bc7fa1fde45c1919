/** A child process of the launcher without a launch: no daemon, no session, a program of the test's choice. */

import type { Clock } from "../../../src/runtime/clock.ts";
import { openLifeline } from "../../../src/runtime/contract/lifeline.ts";
import { type ChildProcess, startProcess } from "../../../src/runtime/launch/child-process.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { openDirectoryPath } from "../../../src/sys/entries.ts";
import { patientClock } from "../../kit/patient-clock.ts";

export interface Started extends ChildProcess {
  /** What it wrote to its standard output after its first line, in bytes; as Latin-1 in `text`. */
  readonly written: { bytes: number; text: string };
  /** What the operator was told. */
  readonly diagnosed: string[];
}

/**
 * The operator's and the child's words are kept; its standard output is copied from its first line on.
 *
 * @param taken what each write of the parent's own waits for: its reader
 */
export function start(
  command: readonly [string, ...string[]],
  clock: Clock = patientClock,
  taken: Promise<void> = Promise.resolve(),
): Started {
  const lifeline = openLifeline();
  const root = openDirectoryPath("/");
  if (!lifeline.ok || !root.ok) {
    if (root.ok) close(root.value);
    if (lifeline.ok) lifeline.value.close();
    throw new Error("no descriptor is left");
  }
  const written = { bytes: 0, text: "" };
  const diagnosed: string[] = [];
  const started = startProcess({
    command,
    workdir: root.value,
    environment: { PATH: process.env.PATH ?? "" },
    lifeline: lifeline.value.readEnd,
    approval: new Secret("an-approval"),
    output: {
      stdout: async (bytes) => {
        written.bytes += bytes.length;
        if (written.text.length < 4096) written.text += Buffer.from(bytes).toString("latin1");
        await taken;
      },
      stderr: () => taken,
    },
    clock,
    diagnose: (line) => diagnosed.push(line),
  });
  close(root.value);
  if (!started.ok) {
    lifeline.value.close();
    throw new Error(started.fault);
  }
  lifeline.value.handedOver(started.value.gone);
  started.value.share([]);
  return { ...started.value, written, diagnosed };
}

/** A shell's lines as a command. */
export function shell(...lines: readonly string[]): readonly [string, ...string[]] {
  return ["/bin/sh", "-c", lines.join("\n")];
}
