/**
 * `npm run worst -- [--minutes N] [--seed S]`: looks for the manifests that delay others the most. A daemon reads, converts
 * and compares each case while another session sends requests. The figure is that session's longest wait.
 *
 * Prints the ten worst cases. Exits 1 if others waited longer than allowed.
 */

import { join } from "node:path";
import { compile, ROOT } from "../scripts/compile.ts";
import { readNumbers } from "../scripts/number-flags.ts";
import { probeWhile } from "./events.ts";
import { createHost, type Host, PARENT, SUBJECT } from "./host.ts";
import type { Server } from "./server.ts";
import { deregister, register, type Session } from "./sessions.ts";
import { seeded, type WorstCase, worstCase } from "./worst-manifests.ts";

/** How long anyone else may wait for an answer, in milliseconds. */
const OTHERS_WAIT_MS = 50;
/** How often a bad case is measured. Pauses of the machine itself do not repeat with the case. */
const REPEATS = 3;

/** The longest wait of others in milliseconds, the smallest of several measurements; and the status of the case's answer. */
async function measureWorst(
  host: Host,
  server: Server,
  prober: Session,
  { parent, child }: WorstCase,
): Promise<{ readonly waited: number; readonly status: number }> {
  let status = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < REPEATS && least > OTHERS_WAIT_MS / 2; repeat++) {
    await host.publish(PARENT, { "murmur.yaml": parent });
    await host.publish(SUBJECT, { "murmur.yaml": child });
    const judged = (async () => {
      const session = await register(server);
      const asked = await fetch(`http://127.0.0.1:${server.port}/spawn`, {
        method: "POST",
        headers: { "x-murmur-spawn-credential": session.credential },
        body: JSON.stringify(SUBJECT),
      });
      status = asked.status;
      await asked.text();
      await deregister(server, session);
    })();
    least = Math.min(least, (await probeWhile(server, prober, judged)).max);
  }
  return { waited: least, status };
}

if (import.meta.main) {
  const { minutes, seed } = readNumbers("npm run worst -- [--minutes N] [--seed S]", {
    minutes: 1,
    seed: Date.now() % 1e9,
  });
  const executable = join(ROOT, "dist/mur-roost");
  await compile({ outfile: executable });
  const host = await createHost(executable);
  try {
    const server = await host.daemon("worst");
    const prober = await register(server);
    const random = seeded(seed);
    const found: { readonly what: string; readonly waited: number; readonly status: number }[] = [];
    for (const end = performance.now() + minutes * 60_000; performance.now() < end; ) {
      const next = worstCase(random);
      found.push({ what: next.what, ...(await measureWorst(host, server, prober, next)) });
    }
    found.sort((one, other) => other.waited - one.waited);
    process.stdout.write(`${found.length} cases, seed ${seed}; longest waits of others\n`);
    for (const { what, waited, status } of found.slice(0, 10))
      process.stdout.write(`${waited.toFixed(1).padStart(8)} ms  ${status}  ${what}\n`);
    process.exitCode = (found[0]?.waited ?? 0) > OTHERS_WAIT_MS ? 1 : 0;
  } finally {
    await host.stopAll();
    host.remove();
  }
}
