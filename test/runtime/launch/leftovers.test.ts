/** Many launches leave nothing behind, and a token reaches only the child and the daemon. */

import { describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endAll } from "../../../src/runtime/index.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { until } from "../../kit/until.ts";
import { sharedParent } from "../parent.ts";
import { processesOf } from "../world.ts";

const { world, parent } = sharedParent();

describe("200 launches", () => {
  /** A child that costs little: it keeps the contract as far as the launcher looks, without registering. */
  function cheapChild(): string {
    const path = join(world().home, "cheap-child");
    writeFileSync(
      path,
      `#!/bin/sh
read approval
case "$CHILD_MODE" in
  fails) echo failing >&2; exit 3 ;;
  babbles) echo babble; exec sleep 1000 ;;
  *) echo '{"session_id":"ses_cheap'$$'","url":""}'; echo more; exec sleep 1000 ;;
esac
`,
    );
    chmodSync(path, 0o755);
    return path;
  }

  test("leave no descriptor and no process, and a folder only where a process was started", async () => {
    const cheap = cheapChild();
    const modes = ["works", "fails", "babbles", "not-there"];
    const batch = async (count: number) => {
      for (let i = 0; i < count; i += modes.length) {
        const outcomes = await Promise.all(
          modes.map((mode) => {
            const environment = { MURMUR_MUR_BINARY: mode === "not-there" ? "/nowhere/mur" : cheap };
            return parent().launch(mode, { environment });
          }),
        );
        const kinds = outcomes.map((o) => (o.kind === "failed" ? o.failure.cause : o.kind));
        expect(kinds).toEqual(["launched", "ended", "not-json", "not-started"]);
        const children = outcomes.flatMap((o) => (o.kind === "launched" ? [o.child] : []));
        await endAll(children, patientClock);
        for (const child of children) child.release();
      }
    };
    await batch(20);
    await until("the first ones are cleared away", () => processesOf(parent().session.id).length === 0);
    Bun.gc(true);
    const before = openFiles();
    const folders = parent().children().length;
    await batch(200);
    expect(processesOf(parent().session.id)).toEqual([]);
    expect(parent().children().length - folders).toBe(150);
    await noMoreFilesThan(before);
  });
});

/** What a text contains of an approval, a credential or the operator's token, whole or in part. */
function tokensIn(text: string): string[] {
  return text.match(/msa1\..{0,20}|msc1\..{0,20}|operator-tok.{0,20}/g) ?? [];
}

describe("tokens do not leak", () => {
  test("from a child that writes them to both of its streams", async () => {
    parent().forget();
    const child = await parent().launched("echoes-tokens");
    await until("its standard output is in", () => parent().written().includes("echoed\n"));
    await endAll([child], patientClock);
    const last = await child.lastStderrLines();
    expect(last).toHaveLength(20);
    expect(tokensIn(last.join())).toEqual([]);
    expect(parent().written().split("<redacted><redacted>\n").length).toBe(401);
    expect(parent().written()).toContain(" <redacted> <redacted>\n");
    expect(parent().written()).toMatch(/\n\[\d+ more lines before the child was ready are left out\]\n/);
    expect(tokensIn(parent().written())).toEqual([]);
    expect(tokensIn(JSON.stringify(child) + Bun.inspect(child, { depth: 10 }))).toEqual([]);
  });

  test("from a child that fails before it has said what its own token is", async () => {
    parent().forget();
    const outcome = await parent().launch("echoes-tokens:fail");
    expect(outcome).toMatchObject({ kind: "failed", failure: { cause: "ended" } });
    const shown = parent().written() + JSON.stringify(outcome);
    expect(shown).toContain("<redacted>");
    expect(tokensIn(shown).filter((token) => token.startsWith("ms"))).toEqual([]);
  });

  test.skipIf(process.platform !== "linux")("into an argument, a variable or a file", async () => {
    parent().forget();
    const child = await parent().launched("report");
    const given = { cmdline: "--spawn-grant-stdin", environ: "MURMUR_SPAWNER_LIFELINE=3" };
    for (const [source, known] of Object.entries(given)) {
      const text = readFileSync(`/proc/${child.pid}/${source}`, "latin1");
      expect(text).toContain(known);
      expect(tokensIn(text)).toEqual([]);
    }
    await endAll([child], patientClock);
    const files = readdirSync(world().home, { recursive: true, withFileTypes: true }).filter((f) =>
      f.isFile(),
    );
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      expect(tokensIn(readFileSync(join(file.parentPath, file.name), "latin1"))).toEqual([]);
    }
    expect(tokensIn(parent().written())).toEqual([]);
  });

  test("into the output of an uncaught exception", async () => {
    const program = `
      import { createRoostClient, launch, openSession, parseRoostUrl, parseRunArguments } from "${import.meta.dir}/../../../src/runtime/index.ts";
      const run = parseRunArguments(["run", "--capsule", "local/parent", "--capsule-version", "0.1.0", "--workdir", "."]);
      const session = (await openSession({ run: run.value })).value;
      const { client, credential } = session.registration;
      const answer = await client.spawn({ name: "local/worker", version: "0.1.0" }, credential);
      console.log(answer, session);
      throw Object.assign(new Error("it holds " + credential), { session, answer });
    `;
    const failing = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
      cwd: world().workdir,
      env: { PATH: process.env.PATH, HOME: world().home, MURMUR_ROOST_URL: world().roostUrl },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const shown = (await new Response(failing.stdout).text()) + (await new Response(failing.stderr).text());
    expect(shown).toContain("it holds <redacted>");
    expect(shown).toContain("sha256");
    expect(tokensIn(shown)).toEqual([]);
  });
});
