/**
 * Capsules that were running before this daemon started.
 *
 * Capsules running at startup: "a capsule stops counting only once the daemon has evidence that it is gone", the check
 * is repeated on every read with no sweep and no timer, and "a capsule found gone is never counted again".
 */

import { close, ReadinessSet } from "../sys/descriptors.ts";
import { openProcess } from "../sys/process.ts";
import { descriptorLimit } from "../sys/this-process.ts";
import { identify, isPossible } from "./process-identity.ts";
import { type RunningRecord, readRunningRecords } from "./running-records.ts";

/**
 * Counts the capsules that run now, and pauses in between. `read` is every `.json` entry, parseable or not. `fault` says why they cannot be
 * counted: the path and the OS error.
 */
export function* takeCensus(directory: string) {
  const reading = yield* readRunningRecords(directory);
  if (!reading.ok) return reading;
  const { records, unreadable } = reading;
  const census = new Census();
  for (const record of records) {
    census.admit(record);
    yield;
  }
  const live = census.count();
  const read = records.length + unreadable;
  return { ok: true as const, census, live, read, stale: records.length - live, unreadable };
}

interface Survivor {
  readonly record: RunningRecord;
  /** It registered with this daemon, so it is counted as a session. */
  registered: boolean;
  /** The process descriptor that reports its exit, if one is watched. */
  readonly descriptor: number | undefined;
}

export class Census {
  readonly #survivors = new Map<number, Survivor>();
  readonly #bySession = new Map<string, Survivor[]>();
  /** Indexes of survivors without a descriptor: each is checked at every count. */
  readonly #polled = new Set<number>();
  readonly #exits = process.platform === "linux" ? new ReadinessSet() : undefined;
  /** Descriptors from this number on are left for connections: many survivors must not use them all up. */
  readonly #descriptors = process.platform === "linux" ? descriptorLimit() / 2 : 0;
  #registered = 0;
  #admitted = 0;

  constructor(records: readonly RunningRecord[] = []) {
    for (const record of records) this.admit(record);
  }

  /** Survivors that still run and are not counted as sessions. */
  count(): number {
    if (this.#survivors.size === 0) return 0;
    for (let exited = this.#exits?.take(); exited && exited.length > 0; exited = this.#exits?.take()) {
      exited.forEach((index) => {
        this.#forget(index);
      });
    }
    for (const index of this.#polled) {
      const survivor = this.#survivors.get(index);
      if (survivor && identify(survivor.record) === "gone") this.#forget(index);
    }
    return this.#survivors.size - this.#registered;
  }

  /** A session registered: a survivor with that id is counted as a session from now on. */
  sessionStarted(id: string): void {
    this.#mark(id, true);
  }

  /** A session retired: a survivor with that id counts again for as long as its process runs. */
  sessionEnded(id: string): void {
    this.#mark(id, false);
  }

  /** Counts a record's process, if it runs. */
  admit(record: RunningRecord): void {
    const index = this.#admitted++;
    if (!isPossible(record.pid)) return;
    // Open the descriptor first, so that the process identified below is the one it holds.
    const opened = this.#exits && openProcess(record.pid);
    if (opened && !opened.ok && opened.fault === "ESRCH") return;
    const descriptor = opened?.ok ? opened.value : undefined;
    const identity = identify(record);
    // Watch the descriptor only if the process certainly is the recorded one.
    const watched =
      descriptor !== undefined &&
      descriptor < this.#descriptors &&
      identity === "alive" &&
      this.#exits?.add(descriptor, index) === true;
    if (descriptor !== undefined && !watched) close(descriptor);
    if (identity === "gone") return;
    const survivor = { record, registered: false, descriptor: watched ? descriptor : undefined };
    this.#survivors.set(index, survivor);
    if (!watched) this.#polled.add(index);
    const others = this.#bySession.get(record.sessionId);
    if (others) others.push(survivor);
    else this.#bySession.set(record.sessionId, [survivor]);
  }

  #forget(index: number): void {
    const survivor = this.#survivors.get(index);
    if (!survivor) return;
    this.#survivors.delete(index);
    this.#polled.delete(index);
    if (survivor.registered) this.#registered--;
    if (survivor.descriptor !== undefined) close(survivor.descriptor);
    const { sessionId } = survivor.record;
    const others = this.#bySession.get(sessionId)?.filter((other) => other !== survivor) ?? [];
    if (others.length > 0) this.#bySession.set(sessionId, others);
    else this.#bySession.delete(sessionId);
  }

  #mark(id: string, registered: boolean): void {
    for (const survivor of this.#bySession.get(id) ?? []) {
      if (survivor.registered === registered) continue;
      survivor.registered = registered;
      this.#registered += registered ? 1 : -1;
    }
  }
}
