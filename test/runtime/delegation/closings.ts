/** What is left of a delegation that was cancelled. */

import { beforeEach, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { until } from "../../kit/until.ts";
import { processesOf } from "../world.ts";
import type { Host } from "./host.ts";

export type Closed = Awaited<ReturnType<ReturnType<typeof closings>["closedOnce"]>>;

/** Called at the top of a test file. Each test begins with a trace that was read. */
export function closings(host: () => Host) {
  beforeEach(() => void host().trace());

  const liveChildren = async () => {
    const status = await host().session.registration.client.status(host().session.id);
    if (status.kind !== "granted") throw new Error(JSON.stringify(status));
    return status.value.live_children;
  };

  /** The sessions of children that the daemon takes for running. */
  async function runningChildren(): Promise<string[]> {
    const { id, registration } = host().session;
    const ids = readdirSync(join(host().world.home, ".murmur/sessions")).filter((name) => name !== id);
    const answers = await Promise.all(ids.map((name) => registration.client.status(name)));
    return ids.filter((_, at) => {
      const answer = answers[at];
      return answer?.kind === "granted" && answer.value.status === "running";
    });
  }

  /** What existed before a run, and what its trace says afterwards. */
  async function standing() {
    return { descriptors: openFiles(), slots: await liveChildren() };
  }

  /** The trace of one delegation and the record that it points to; no process, descriptor or slot of it is left. */
  async function closedOnce(before: Awaited<ReturnType<typeof standing>>) {
    const trace = host().trace();
    const [start, ...moreStarts] = trace.filter(({ event }) => event === "delegation_start");
    const [close, ...moreCloses] = trace.filter(({ event }) => event === "delegation");
    if (!close) throw new Error("it was not closed");
    expect([...moreStarts, ...moreCloses]).toEqual([]);
    // A process that a shell script has just forked keeps the script's command line for a moment.
    await until("every process is gone", () => processesOf(host().session.id).length === 0);
    await noMoreFilesThan(before.descriptors);
    // A reservation that no child came to redeem lasts a minute; of a child that was ready nothing is left.
    const slots = (await liveChildren()) - before.slots;
    const shell = start && String(start.child_workdir);
    const session = String(start?.child_session_id);
    const places = ["shell", String(shell)].map((path) =>
      join(host().world.home, ".murmur/records", path, session, "completion.json"),
    );
    const path = places.find((place) => existsSync(place));
    const record = path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"));
    return { trace, start, close, record, slots };
  }

  return { standing, closedOnce, runningChildren };
}
