/** The daemon is killed at the worst moments: between a grant and the child's registration, and while a child works. */

import { beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { until } from "../../kit/until.ts";
import { processesOf } from "../world.ts";
import { blocksOf, continued, delegate, recordOf, started } from "./driving.ts";
import { workerBinary } from "./host.ts";
import { sharedHost } from "./shared-host.ts";

const host = sharedHost();
beforeAll(async () => {
  // Opens what stays open after its first use, also by the listing of processes.
  const { child } = await delegate(host(), "say:hello");
  expect(processesOf(child.child_workdir)).toEqual([]);
  host().trace();
});

/** A worker that kills the daemon before anything else. */
async function killer(): Promise<string> {
  const path = join(host().world.home, "killer");
  const { roostPid } = host().world;
  writeFileSync(
    path,
    `#!/bin/sh
kill -9 ${roostPid}
while kill -0 ${roostPid} 2>/dev/null; do sleep 0.01; done
exec '${await workerBinary()}' "$@"
`,
  );
  chmodSync(path, 0o755);
  return path;
}

test("a launch fails with the child's reason if the daemon dies after the grant", async () => {
  const gate = join(host().world.home, "gate-of-the-daemon");
  const before = openFiles();
  const working = host().task();
  const child = await started(working, `when:${gate}`);
  const folders = join(host().session.directories.records.path, "children");
  const foldersBefore = readdirSync(folders);
  host().trace();

  const environment = { ...host().session.environment, MURMUR_MUR_BINARY: await killer() };
  const task = host().task({ session: { ...host().session, environment } });
  const asked = { capsule: "worker", version: "0.1.0", task: "say:never" };
  const result = await task.call(asked);
  expect(result.kind).toBe("failed");
  const object = JSON.parse(result.text);
  expect(object).toEqual({
    delegation_id: expect.stringMatching(/^dlg_[0-9a-f]{32}$/),
    session_id: "",
    capsule: "worker",
    version: "0.1.0",
    status: "failed",
    output: expect.stringMatching(
      /^could not launch local\/worker@0\.1\.0: it ended \(exit status: 1\) without a first line\nlast lines of its standard error:\n<untrusted-content source=delegation:worker>\n[^<]*\n<\/untrusted-content>$/,
    ),
  });
  expect(object.output).toContain("E-RUN-019");
  expect(object.output).toContain(host().world.roostUrl);
  expect(object.output).not.toContain("msa1.");

  // A process was started there: the folder stays to be looked into, and nothing is in it.
  const made = readdirSync(folders).filter((name) => !foldersBefore.includes(name));
  expect(made).toHaveLength(1);
  const folder = join(folders, made[0] ?? "");
  expect(readdirSync(folder)).toEqual([]);
  expect(existsSync(join(host().world.home, ".murmur", "records", folder.slice(1)))).toBe(false);
  expect(readdirSync(join(host().world.home, ".murmur", "sessions")).sort()).toEqual(
    [host().session.id, child.session_id].sort(),
  );
  expect(processesOf(folder)).toEqual([]);
  expect(task.inFlight()).toEqual([]);
  expect(host().trace()).toMatchObject([
    {
      event: "delegation",
      delegation_id: object.delegation_id,
      child_session_id: null,
      outcome: "failed",
      reason: object.output,
    },
  ]);
  expect(await task.settle({ kind: "finished", turnsLeft: 1 }, () => {})).toEqual({ kind: "done" });

  // Without a daemon to ask, a launch is refused and leaves nothing at all.
  const refused = await task.call(asked);
  expect(refused.kind).toBe("refused");
  expect(refused.text).toStartWith(`mur-roost at ${host().world.roostUrl}: `);
  expect(readdirSync(folders).filter((name) => !foldersBefore.includes(name))).toEqual(made);
  expect(host().trace()).toMatchObject([{ event: "delegation", delegation_id: null, outcome: "refused" }]);

  // The child that was already working needs no daemon to answer.
  writeFileSync(gate, "");
  const { text } = await continued(working);
  expect(blocksOf(text)).toMatchObject([{ delegationId: child.delegation_id, status: "ok" }]);
  expect(text).toContain("\nresult:\nat last\n");
  expect(recordOf(host().world.home, child)).toMatchObject({ status: "ok", delivered: true });
  await until("its warning is read", () =>
    host().written().includes(`warning: session ${child.session_id} could not deregister: `),
  );
  expect(processesOf(host().session.directories.records.path)).toEqual([]);
  await noMoreFilesThan(before);
});
