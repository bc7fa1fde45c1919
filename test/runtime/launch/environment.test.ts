/** What a child gets of its parent's variables, byte for byte. */

import { beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSession } from "../../../src/runtime/index.ts";
import { endAfterTest } from "../../kit/end-after-test.ts";
import { until } from "../../kit/until.ts";
import { PRELUDE, STAY, says, writeChild } from "../delegation/shell-child.ts";
import { coordinates, sharedParent } from "../parent.ts";
import { childBinary } from "../world.ts";

const allow = "env: {allow: [CHILD_MODE, WEIRD, TEXT]}";
const { world, parent } = sharedParent({ parent: `spawn: {allow: [local/worker]}, ${allow}`, worker: allow });
let binary: string;
beforeAll(async () => {
  parent();
  binary = await childBinary();
});

/** The variables that a process was started with, as Latin-1: one character a byte. */
function variables(file: string): Record<string, string> {
  const lines = readFileSync(file, "latin1").split("\0").filter(Boolean);
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s)));
}

test("a variable that is not UTF-8 reaches a child as it is", async () => {
  const { home, roostUrl } = world();
  const worker = writeChild(home, "worker.sh", ...PRELUDE, "env -0 > environment", says(""), STAY);
  const workdir = join(home, "parents-folder");
  mkdirSync(workdir);
  writeFileSync(join(home, "levels"), "1");
  // A variable of `Bun.spawn` is a text, so a shell sets these.
  const starter = join(home, "starter.sh");
  const exported = {
    WEIRD: "caf\xe9 \xed\xa0\x80",
    USER: "\xff\xfe",
    TEXT: Buffer.from("\ufeffgrüß \ufffd").toString("latin1"),
    PATH: `${process.env.PATH}:/opt/\xe9`,
  };
  const lines = Object.entries(exported).map(([name, value]) => `export ${name}='${value}'`);
  writeFileSync(starter, `#!/bin/sh\n${lines.join("\n")}\nexec ${binary} "$@"\n`, "latin1");
  chmodSync(starter, 0o755);
  const args = ["run", "--capsule", "local/parent", "--capsule-version", "0.1.0", "--workdir", workdir];
  const started = Bun.spawn([starter, ...args], {
    env: { HOME: home, MURMUR_ROOST_URL: roostUrl, MURMUR_MUR_BINARY: worker, CHILD_MODE: "chain" },
    cwd: workdir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  endAfterTest(started);
  const first = Buffer.from((await started.stdout.getReader().read()).value ?? []).toString();
  const children = join(JSON.parse(first).records_dir, "children");
  const folder = () => (existsSync(children) ? readdirSync(children)[0] : undefined);
  await until("the child has started", () => folder() !== undefined);
  const handed = variables(join(children, folder() ?? "", "environment"));
  started.kill("SIGTERM");
  expect(await started.exited).toBe(0);
  expect(handed).toMatchObject(exported);
});

test.each(["HOME", "the work folder"])("%s that is not UTF-8 opens no session", async (what) => {
  // What a program sees of it: U+FFFD. There may be a directory of that very name.
  const strange = join(world().home, "caf\ufffd");
  mkdirSync(strange, { recursive: true });
  const { environment } = parent();
  const opened = await openSession({
    run: {
      ...coordinates("local/parent"),
      workdir: what === "HOME" ? world().workdir : strange,
      grantOnStdin: false,
      readinessTokens: false,
      parentWorkdir: undefined,
    },
    environment: { ...environment, HOME: what === "HOME" ? strange : environment.HOME },
  });
  if (opened.ok) throw new Error("opened");
  expect(opened.fault.message).toBe(`${what}, ${strange}, is not valid UTF-8`);
});
