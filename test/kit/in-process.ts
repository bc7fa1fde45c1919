/** The daemon's application without a socket, on clocks that a test sets. */

import { randomBytes } from "node:crypto";
import { createApp } from "../../src/api/app.ts";
import type { Context } from "../../src/api/context.ts";
import { Census } from "../../src/census/census.ts";
import type { RunningRecord } from "../../src/census/running-records.ts";
import type { DecisionLog } from "../../src/log/decision-log.ts";
import type { LogFields } from "../../src/log/fields.ts";
import { lowerManifest } from "../../src/referee/envelope.ts";
import { type ArtifactName, parseArtifactName } from "../../src/registry/artifact-name.ts";
import { readManifest } from "../../src/registry/manifest.ts";
import { Registry } from "../../src/registry/registry.ts";
import { Sessions } from "../../src/sessions/sessions.ts";
import { inSlices } from "../../src/slices.ts";
import { createAuthority } from "../../src/tokens/authority.ts";
import { Caller } from "./host.ts";

export interface TestClock {
  /** Unix milliseconds. */
  wall: number;
  /** Milliseconds. */
  monotonic: number;
}

export interface InProcess {
  readonly caller: Caller;
  readonly clock: TestClock;
  readonly context: Context;
  readonly logged: LogFields[];
}

export function inProcess(
  registry: string,
  options: {
    readonly spawnAllow?: readonly string[];
    readonly limits?: Partial<Context["limits"]>;
    readonly records?: readonly RunningRecord[];
  } = {},
): InProcess {
  const clock = { wall: 1_800_000_000_000, monotonic: 0 };
  const logged: LogFields[] = [];
  const note = (fields: LogFields) => void logged.push(fields);
  const log: DecisionLog = {
    granted: note,
    refused: note,
    refusedUnverified: note,
    failed: note,
    close() {},
  };
  const context: Context = {
    limits: { maxDepth: 3, maxConcurrent: 4, maxLiveCapsules: 16, ...options.limits },
    spawnAllow: new Set((options.spawnAllow ?? []).map(nameOf)),
    authority: createAuthority({ randomBytes, wall: () => clock.wall }),
    sessions: new Sessions(() => clock.monotonic),
    registry: new Registry({
      path: registry,
      readManifest,
      lower: (manifest) => inSlices(lowerManifest(manifest)),
    }),
    census: new Census(options.records ?? []),
    log,
    wall: () => clock.wall,
  };
  const app = createApp(context);
  const caller = new Caller(async (path, init) => {
    const request = new Request(`http://127.0.0.1:7700${path}`, init);
    request.headers.set("host", "127.0.0.1:7700");
    return app.fetch(request, () => undefined, true);
  });
  return { caller, clock, context, logged };
}

export function nameOf(text: string): ArtifactName {
  const name = parseArtifactName(text);
  if (name === undefined) throw new Error(`not a full name: ${text}`);
  return name;
}
