/** Registers a session with the daemon, if it needs to be registered. */

import { printable } from "../../printable.ts";
import { fault, ok, type Result } from "../../result.ts";
import { createRoostClient, type RoostClient } from "../client.ts";
import type { Clock } from "../clock.ts";
import type { RunArguments } from "../contract/arguments.ts";
import type { Environment, StartRefusal } from "../contract/environment.ts";
import type { RuntimeManifest } from "../manifest.ts";
import type { Secret } from "../secret.ts";
import { parseRoostUrl } from "../wire.ts";
import { readGrant } from "./grant.ts";

/** The result of registering: a client for the daemon, and the credential for its requests. */
export interface Registration {
  readonly client: RoostClient;
  readonly credential: Secret;
}

/** What registering needs from outside. */
interface From {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly input?: ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

/**
 * A session registers if it may spawn, or if it was launched with an approval: presenting the approval marks it as
 * spent. Any other session opens no connection.
 */
export async function registerWhereNeeded(
  id: string,
  run: RunArguments,
  manifest: RuntimeManifest,
  { environment, clock, input, signal }: From,
): Promise<Result<Registration | undefined, StartRefusal>> {
  let approval: Secret | undefined;
  if (run.grantOnStdin) {
    const grant = await readGrant(input ?? Bun.stdin.stream(), clock, signal);
    if (!grant.ok) return grant;
    approval = grant.value;
  }
  if (!approval && manifest.spawnAllow.length === 0) return ok(undefined);
  const url = parseRoostUrl(environment.MURMUR_ROOST_URL);
  if (!url.ok) return fault(notRegistered(run, url.fault));
  const client = createRoostClient(url.value, clock);
  const answer = await client.register(
    { session_id: id, name: run.name, version: run.version },
    approval,
    signal,
  );
  if (answer.kind === "granted") return ok({ client, credential: answer.value });
  const why = answer.kind === "refused" ? answer.error : answer.reason;
  return fault(notRegistered(run, `mur-roost at ${url.value}: ${why}`));
}

function notRegistered(run: RunArguments, why: string): StartRefusal {
  return { code: "E-RUN-019", message: `${run.name}@${run.version} could not register: ${printable(why)}` };
}
