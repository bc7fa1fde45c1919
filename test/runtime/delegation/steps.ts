/** A plan's `capsule` steps on a host, and what is left of them. */

import { beforeEach, expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RegisteredSession } from "../../../src/runtime/index.ts";
import { coordinates } from "../parent.ts";
import { processesOf } from "../world.ts";
import type { Host } from "./host.ts";
import { PRELUDE, writeChild } from "./shell-child.ts";

export const WORKER = "local/worker@0.1.0";

/** Called at the top of a test file. Each test begins with a trace that was read. */
export function stepsOf(host: () => Host) {
  beforeEach(() => void host().trace());

  const withEnvironment = (environment: Readonly<Record<string, string>>): RegisteredSession => ({
    ...host().session,
    environment: { ...host().session.environment, ...environment },
  });

  return {
    step: (task: string, signal = new AbortController().signal) => ({
      ...coordinates("local/worker"),
      task,
      contextId: "ctx_1",
      signal,
    }),

    /** The processes of its children. */
    left: () => processesOf(host().session.directories.records.path),

    withEnvironment,

    /** The session, its children a script of these lines. */
    withChild: (name: string, ...lines: readonly string[]) =>
      withEnvironment({ MURMUR_MUR_BINARY: writeChild(host().world.home, name, ...PRELUDE, ...lines) }),

    /** The one child of the step that ran last, from the trace. */
    traced() {
      const [start, close, ...more] = host().trace();
      expect(more).toEqual([]);
      expect(start?.event).toBe("delegation_start");
      const session = String(start?.child_session_id);
      const place = (path: string) => join(host().world.home, ".murmur", "records", path, session);
      const shell = place("shell");
      const directory = existsSync(shell) ? shell : place(String(start?.child_workdir));
      const record = join(directory, "completion.json");
      return {
        close,
        session,
        workdir: String(start?.child_workdir),
        record: existsSync(record) ? JSON.parse(readFileSync(record, "utf8")) : undefined,
      };
    },
  };
}
