/** What is recorded of a child that never accepted its task. */

import { beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rawServer } from "../../kit/raw-server.ts";
import { shared } from "../../kit/shared.ts";
import { processesOf } from "../world.ts";
import { sharedHost } from "./shared-host.ts";
import { PRELUDE, records, says, writeChild } from "./shell-child.ts";

const host = sharedHost();
/** A door that takes a task and says nothing. */
const door = shared(async (undo) => undo.adopt(await rawServer(() => {}), (server) => server.close()));
beforeEach(() => {
  if (existsSync(join(host().session.directories.records.path, "trace.jsonl"))) host().trace();
});

const call = { capsule: "worker", version: "0.1.0", task: "x" };

function recordOf() {
  const [start, close] = host().trace();
  if (!start || !close) throw new Error("it did not start, or was not closed");
  const path = join(
    host().world.home,
    ".murmur/records",
    String(start.child_workdir),
    String(start.child_session_id),
    "completion.json",
  );
  return { close, record: JSON.parse(readFileSync(path, "utf8")) };
}

test.each<[string, string[], object]>([
  [
    "without a record has crashed",
    ["echo no room >&2", "exit 3"],
    { status: "crashed", reported_by: "launcher", detail: "exit status: 3\nno room", delivered: false },
  ],
  ["with a record keeps it", [records("error"), "exit 3"], { status: "error", detail: "its own words" }],
])("a child that ended by itself %s", async (_, lines, recorded) => {
  const binary = writeChild(
    host().world.home,
    "ends",
    ...PRELUDE,
    says(`127.0.0.1:${door().port}`),
    ...lines,
  );
  const environment = { ...host().session.environment, MURMUR_MUR_BINARY: binary };
  const { kind, text } = await host()
    .task({ session: { ...host().session, environment } })
    .call(call);
  expect(kind).toBe("failed");
  expect(JSON.parse(text).output).toContain("it ended before, exit status: 3");
  const { close, record } = recordOf();
  expect(close.outcome).toBe("failed");
  expect(record).toMatchObject(recorded);
});

test("the launcher records a child that it ended, whatever the child reports meanwhile", async () => {
  const deliver = async () => ({ ok: false, fault: "it rejected the task" }) as const;
  expect((await host().task({ deliver }).call(call)).kind).toBe("failed");
  expect(processesOf(host().session.id)).toEqual([]);
  const { record } = recordOf();
  expect(record).toMatchObject({
    status: "terminated",
    reported_by: "launcher",
    detail: "the parent ended this delegation",
  });
});
