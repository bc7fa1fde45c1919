/** For whom the registry reads: who comes with a token goes before anybody else. */

import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from "bun:test";
import { createHost, type Host, spawns } from "../kit/host.ts";
import { type InProcess, inProcess } from "../kit/in-process.ts";

let host: Host;
let daemon: InProcess;
let root: string;
let asked: string[];

beforeAll(async () => {
  host = createHost();
  await host.publish("local/root", spawns("local/child"));
  await host.publish("local/child");
});
afterAll(() => host[Symbol.asyncDispose]());
beforeEach(async () => {
  daemon = inProcess(host.registry, { spawnAllow: ["local/root"] });
  root = await daemon.caller.credential("ses_root", "local/root");
  asked = [];
  const { registry } = daemon.context;
  const resolve = registry.resolve.bind(registry);
  spyOn(registry, "resolve").mockImplementation((coordinates, asker) => {
    asked.push(asker ?? "verified");
    return resolve(coordinates, asker);
  });
});

test("a session that spawns has priority, and so does a child with an approval", async () => {
  const approval = await daemon.caller.approval(root, "local/child");
  await daemon.caller.register("ses_child", "local/child", approval);
  expect(asked).toEqual(["verified", "verified"]);
});

test("without an approval, a name on the operator's list has priority", async () => {
  await daemon.caller.register("ses_other", "local/root");
  expect(asked).toEqual(["listed"]);
});

test("names on the operator's list are all read, however many come at once", async () => {
  const versions = Array.from({ length: 40 }, (_, index) => `1.0.${index}`);
  for (const version of versions) await host.publish("local/root", "", version);
  const answers = await Promise.all(
    versions.map((version, index) =>
      daemon.caller.register(`ses_${index}`, "local/root", undefined, version),
    ),
  );
  expect(answers.map(({ status, json }) => [status, json.error])).toEqual(
    versions.map(() => [200, undefined]),
  );
});

test("an approval that is unknown, expired or for another artifact gives no priority", async () => {
  const approval = await daemon.caller.approval(root, "local/child");
  asked = [];
  await daemon.caller.register("ses_child", "local/child", "x");
  await daemon.caller.register("ses_child", "local/root", approval);
  await daemon.caller.register("ses_child", "local/child", approval, "0.2.0");
  daemon.clock.wall += 59_999;
  await daemon.caller.register("ses_child", "local/child", approval);
  daemon.clock.wall += 1;
  await daemon.caller.register("ses_child", "local/child", approval);
  expect(asked).toEqual(["other", "other", "other", "verified", "other"]);
});
