import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../../src/census/process-identity.ts";
import { testFolder } from "../kit/folders.ts";
import { until } from "../kit/until.ts";

setDefaultTimeout(120_000);

const REPOSITORY = join(import.meta.dir, "..", "..");
const SOURCE = `export const sum = (one: number, other: number) => one + other;
export const isMany = (count: number) => count >= 7;
`;
const NOTICES = `import { expect, test } from "bun:test";
import fc from "fast-check";
import { isMany, sum } from "../../src/tokens/sum.ts";
test("sum", () => expect(sum(1, 2)).toBe(3));
test("many", () => expect(isMany(8)).toBe(true));
test("cases are the same in every run", () => expect(fc.sample(fc.nat(), 3)).toEqual(fc.sample(fc.nat(), 3)));
`;

const folder = testFolder();
const tree = folder.at("tree");
const temporary = folder.at("temporary");
afterAll(() => folder.remove());

const write = (file: string, text: string) => Bun.write(join(tree, file), text);

beforeEach(async () => {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree);
  mkdirSync(temporary, { recursive: true });
  Bun.spawnSync(["git", "init", "-q"], { cwd: tree });
  symlinkSync(join(REPOSITORY, "node_modules"), join(tree, "node_modules"));
  await write(".gitignore", "node_modules\n");
  await write("tsconfig.json", '{ "compilerOptions": { "module": "esnext" }, "include": ["src"] }');
  await write("src/tokens/sum.ts", SOURCE);
  await write("test/tokens/sum.test.ts", NOTICES);
});

function mutants(...folders: string[]) {
  return Bun.spawn([process.execPath, join(REPOSITORY, "scripts/mutants.ts"), ...folders], {
    cwd: tree,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function outcomeOf(run: ReturnType<typeof mutants>) {
  const [out, err, code] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
    run.exited,
  ]);
  return { out, err, code };
}

describe("a mutation run", () => {
  test("prints the changes that no test notices, and leaves the tree as it was", async () => {
    const { out, err, code } = await outcomeOf(mutants("tokens"));
    expect(err).toBe("");
    expect(out.split("\n")).toEqual([
      "src/tokens/sum.ts:2: >= -> >",
      "src/tokens/sum.ts:2: 7 -> (7 + 1)",
      "tokens: 2 of 4 changes noticed (50.0 %), 0 of them by a run that did not end",
      "",
    ]);
    expect(code).toBe(0);
    expect(readFileSync(join(tree, "src/tokens/sum.ts"), "utf8")).toBe(SOURCE);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("reports a tree whose tests fail, and changes nothing", async () => {
    await write("src/tokens/sum.ts", SOURCE.replace("+", "-"));
    const { out, err, code } = await outcomeOf(mutants("tokens"));
    expect(err).toStartWith(
      "mutants: test/tokens/sum.test.ts fails before anything is changed, so nothing was:\n",
    );
    expect(err).toContain("(fail) sum");
    expect([out, code]).toEqual(["", 1]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("tries a sample of the changes in one file on request", async () => {
    const { out, err } = await outcomeOf(mutants("tokens/sum.ts", "--every=3"));
    expect(err).toBe("");
    expect(out).toEndWith(
      "tokens/sum.ts: 1 of 2 changes noticed (50.0 %), 0 of them by a run that did not end\n",
    );
    for (const every of ["0", "x", "1.5", ""]) {
      const refused = await outcomeOf(mutants(`--every=${every}`));
      expect(refused.err).toBe("mutants: --every=<n> takes a whole number from 1 on\n");
      expect(refused.code).toBe(1);
    }
  });

  test("refuses other folders", async () => {
    const { out, err, code } = await outcomeOf(mutants("tokens", "log"));
    expect(err).toBe("mutants: 'log' is none of referee, tokens, sessions, registry, census, api\n");
    expect([out, code]).toEqual(["", 1]);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "that %s interrupts leaves no process and no file",
    async (signal) => {
      const started = folder.at(`started-${signal}`);
      await write(
        "test/tokens/long.test.ts",
        `import { test } from "bun:test";
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
test("long", async () => {
  mkdtempSync(tmpdir() + "/kept-");
  const child = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync("pids", process.pid + " " + child.pid);
  renameSync("pids", ${JSON.stringify(started)});
  await child.exited;
});
`,
      );
      const run = mutants("tokens");
      const outcome = outcomeOf(run);
      await until("the tests run", () => existsSync(started));
      run.kill(signal);
      expect(await outcome).toEqual({ out: "", err: "", code: 130 });
      for (const pid of readFileSync(started, "utf8").split(" ")) {
        await until(`${pid} has ended`, () => !readProcess(Number(pid)).held);
      }
      expect(readdirSync(temporary)).toEqual([]);
    },
  );
});
