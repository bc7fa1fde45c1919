/** A folder to copy and one to copy into, for each test of a file. */

import { afterEach, beforeEach, expect } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { type SnapshotRequest, snapshotWorkdir } from "../../../src/runtime/snapshot/snapshot.ts";
import { hold, type TestFolder, testFolder } from "../../kit/folders.ts";

export class Copying {
  folder!: TestFolder;
  source = "";
  copy = "";

  /** Called at the top of a test file. */
  constructor() {
    beforeEach(() => {
      this.folder = testFolder();
      this.source = this.folder.at("source");
      this.copy = this.folder.at("copy");
      mkdirSync(this.source);
      mkdirSync(this.copy, { mode: 0o700 });
    });
    afterEach(() => this.folder.remove());
  }

  /** A path in the source. */
  readonly at = (...names: string[]) => [this.source, ...names].join("/");

  async snapshot(options: Partial<SnapshotRequest> = {}) {
    const held = { source: hold(this.source), destination: hold(this.copy) };
    const outcome = await snapshotWorkdir({ ...held, ceilingBytes: 2 ** 40, runtimeOwned: [], ...options });
    held.source.close();
    held.destination.close();
    return outcome;
  }

  async copied(options: Partial<SnapshotRequest> = {}) {
    const outcome = await this.snapshot(options);
    if (!outcome.ok) throw new Error(outcome.fault.message);
    return outcome.value;
  }

  /** Why the copy failed; nothing is left of it. */
  async faultOf(options: Partial<SnapshotRequest> = {}) {
    const outcome = await this.snapshot(options);
    if (outcome.ok) throw new Error("this was to fail");
    expect(readdirSync(this.copy)).toEqual([]);
    return outcome.fault;
  }
}
