/** A child that starts in a copy of its parent's work folder. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endAll, launch } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { until } from "../../kit/until.ts";
import { coordinates, sharedParent } from "../parent.ts";

const PARENT = "spawn: {allow: [local/worker], workdir_snapshot: [local/worker]}, env: {allow: [CHILD_MODE]}";
const CEILING = 100_000;
const WORKER = `env: {allow: [CHILD_MODE]}, resources: {workdir_max_bytes: ${CEILING}}`;

const { world, parent } = sharedParent({ parent: PARENT, worker: WORKER });

/** What makes a Bun program in this folder run somebody else's code, or see somebody else's variables. */
function plantHostileFiles(): string {
  const marker = join(world().home, "planted-code-ran");
  const files = {
    "bunfig.toml": 'preload = ["./planted.ts"]\n[test]\npreload = ["./planted.ts"]\n',
    "planted.ts": `require("node:fs").writeFileSync(${JSON.stringify(marker)}, process.argv.join(" "));`,
    ".env": "PLANTED=1\nMURMUR_ROOST_URL=http://127.0.0.1:1\nCHILD_MODE=silent\n",
    ".env.local": "PLANTED=2\n",
    "tsconfig.json": '{"compilerOptions":{"jsx":"react","jsxImportSource":"planted"}}',
    "package.json": '{"name":"planted","type":"module"}',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(world().workdir, name), content);
  mkdirSync(join(world().workdir, "peer-in"));
  writeFileSync(join(world().workdir, "peer-in", "message"), "for the parent only");
  return marker;
}

describe("a copy of the parent's work folder", () => {
  test("is where the child starts, and nothing in it is run", async () => {
    const marker = plantHostileFiles();
    // A Bun that looks for files in such a folder does run them: the folder is as hostile as intended.
    Bun.spawnSync([process.execPath, "-e", "0"], { cwd: world().workdir });
    expect(existsSync(marker)).toBe(true);
    const ran = readFileSync(marker, "utf8");

    const child = await parent().launched("report");
    const given = JSON.parse(readFileSync(join(child.workdir.path, "given.json"), "utf8"));
    await endAll([child], patientClock);
    expect(readFileSync(marker, "utf8")).toBe(ran);
    expect(given.env.PLANTED).toBeUndefined();
    expect(given.env.CHILD_MODE).toBe("report");
    expect(given.env.MURMUR_ROOST_URL).toBe(world().roostUrl);

    const copied = readdirSync(child.workdir.path).sort();
    const listed = readdirSync(world().workdir).sort();
    expect(copied).toEqual([...listed.filter((name) => name !== "peer-in"), "given.json"].sort());
    expect(existsSync(join(world().workdir, "given.json"))).toBe(false);
    expect(given.args.slice(-2)).toEqual(["--parent-workdir-snapshot", JSON.stringify(child.copy)]);
    expect(child.copy).toMatchObject({
      source: world().workdir,
      files: 6,
      skipped_count: 1,
      skipped: [{ path: "peer-in", reason: "runtime-owned" }],
    });
    child.release();
  });

  test("over the child's ceiling fails the delegation, which leaves no folder", async () => {
    const before = parent().children();
    writeFileSync(join(world().workdir, "large"), Buffer.alloc(CEILING));
    const outcome = await parent().launch("report");
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "snapshot" } });
    const message = outcome.kind === "failed" ? outcome.failure.message : "";
    expect(message).toContain("local/worker@0.1.0");
    expect(message).toContain(String(CEILING));
    expect(message).toContain("capabilities.resources.workdir_max_bytes");
    expect(parent().children()).toEqual(before);
    writeFileSync(join(world().workdir, "large"), "");
  });

  test("that took longer than its approval lasts starts nothing", async () => {
    const before = parent().children();
    const clock = manualClock(Date.now());
    const outcome = await parent().launch("report", {
      clock,
      onProgress: () => void clock.advance(600_000),
    });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "expired" } });
    expect(parent().children()).toEqual(before);
  });

  test("is not made once its approval has expired", async () => {
    const before = parent().children();
    const { client, credential } = parent().session.registration;
    const manual = manualClock(Date.now());
    // A length of its own: this is the approval's timer, and it is over as soon as it is set.
    const lasts = 12_345;
    const clock = {
      ...manual,
      after(ms: number, callback: () => void) {
        if (ms !== lasts) return manual.after(ms, callback);
        callback();
        return () => {};
      },
    };
    const spawn: typeof client.spawn = async (...asked) => {
      const answer = await client.spawn(...asked);
      if (answer.kind !== "granted") return answer;
      return { ...answer, value: { ...answer.value, expires_at_ms: manual.now() + lasts } };
    };
    let copied = 0;
    const outcome = await launch(
      { ...parent().session, clock, registration: { client: { ...client, spawn }, credential } },
      { ...coordinates("local/worker"), contextId: "ctx_test", onProgress: () => void copied++ },
    );
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "expired" } });
    expect(copied).toBe(0);
    expect(parent().children()).toEqual(before);
  });

  test("leaves nothing behind that waits for its approval to expire", async () => {
    const clock = manualClock(Date.now());
    const outcome = await parent().launch("report", {
      clock,
      environment: { MURMUR_MUR_BINARY: "/nowhere/mur" },
    });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "not-started" } });
    await until("no timer is left", () => clock.waiting() === 0);
  });

  test("that is aborted on the way starts nothing", async () => {
    const before = parent().children();
    const giveUp = new AbortController();
    const outcome = await parent().launch("report", {
      signal: giveUp.signal,
      onProgress: () => giveUp.abort(),
    });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "canceled" } });
    expect(parent().children()).toEqual(before);
  });

  test.each(["./planted-mur", "planted-mur"])("is not searched for the program %s", async (binary) => {
    const path = join(world().workdir, "planted-mur");
    writeFileSync(path, '#!/bin/sh\necho \'{"session_id":"ses_planted"}\'\n', { mode: 0o755 });
    const outcome = await parent().launch("report", { environment: { MURMUR_MUR_BINARY: binary } });
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "not-started" } });
  });
});
