import { describe, expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { formationUsage } from "../../src/cli/formation/flags.ts";
import { parseFormation } from "../../src/formation/index.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { MAIN, ROOT, sharedCommand, WHOLE } from "./command.ts";
import { spawns, testRegistry } from "./kit.ts";

const { registry, formation, here } = sharedCommand();

describe("exit statuses", () => {
  test("are 0 if everything can be granted, 1 if something cannot, 2 if the root cannot be read", async () => {
    const whole = await here(WHOLE);
    expect([whole.status, whole.stderr]).toEqual([0, ""]);
    expect(whole.stdout).toContain("1 pair: 1 can be granted, none cannot.");
    const part = await here(ROOT);
    expect([part.status, part.stderr]).toEqual([1, ""]);
    expect(part.stdout).toContain("3 pairs: 1 can be granted, 2 cannot (1 refused, 1 not in the registry).");
    const bound = await here(WHOLE, "--max-concurrent", "0");
    expect(bound.status).toBe(1);
    expect(bound.stdout).toContain("Nothing is granted under --max-concurrent 0.");
  });

  test("are 0 or 1 for one pair on all axes with --why", async () => {
    const granted = await here("--why", ROOT, "local/a@1.0.0");
    expect([granted.status, granted.stdout.trimEnd().split("\n").at(-1)]).toEqual([0, "granted"]);
    const refused = await here("--why", ROOT, "local/a@1.1.0");
    expect(refused.status).toBe(1);
    const lines = refused.stdout.split("\n");
    expect(lines).toContainEqual(expect.stringMatching(/^capabilities\.shell\.allow +none +git +exceeds$/));
    expect(lines.filter((line) => line.startsWith("capabilities."))).toHaveLength(12);
    expect(lines.at(-2)).toBe(
      "refused: capabilities.shell.allow: the child declares 'git', which its parent does not hold — a spawned capsule can never hold more capability than the capsule that spawned it",
    );
    const unlisted = await here("--why", "local/a@1.0.0", "local/leaf@1.0.0");
    expect(unlisted.status).toBe(1);
    expect(unlisted.stdout).toContain(
      "refused: capabilities.spawn.allow of local/a@1.0.0 does not list local/leaf; that is asked first\n",
    );
  });

  test("are 0 with --expect only if nothing changed, whatever is refused", async () => {
    using scratch = scratchDirectory();
    using other = testRegistry();
    const file = join(scratch.path, "formation.json");
    await other.publish(ROOT, spawns("local/a"));
    await other.publish("local/a@1.0.0", { shell: { allow: ["git"] } });
    const run = (...args: string[]) => formation([ROOT, "--registry-path", other.path, ...args]);
    const json = await run("--format", "json");
    expect(json.status).toBe(1);
    expect(parseFormation(json.stdout).ok).toBe(true);
    writeFileSync(file, json.stdout);
    const same = await run("--expect", file);
    expect([same.status, same.stdout]).toEqual([0, "Nothing changed.\n"]);
    await other.publish("local/a@1.0.0");
    const changed = await run("--expect", file);
    expect([changed.status, changed.stdout.split("\n")[0]]).toEqual([1, "Newly granted:"]);
  });

  test("are the same if files are named from the folder in which npm was called", async () => {
    const INIT_CWD = dirname(registry().path);
    const run = (...args: string[]) =>
      formation([WHOLE, "--registry-path", basename(registry().path), ...args], { INIT_CWD });
    const { status, stdout } = await run("--format", "json");
    expect(status).toBe(0);
    using scratch = scratchDirectory();
    const file = join(scratch.path, "formation.json");
    writeFileSync(file, stdout);
    const same = await run("--expect", relative(INIT_CWD, file));
    expect([same.status, same.stdout, same.stderr]).toEqual([0, "Nothing changed.\n", ""]);
  });
});

describe("bad input is one clear sentence, with exit status 2", () => {
  const there = (name: string, version: string) =>
    join(registry().path, "local", name, version, `${name}-${version}`);
  test.each<[string, readonly string[], () => string]>([
    [
      "no full name",
      ["root@1.0.0"],
      () => "'root@1.0.0' is not a full name with a version, <scope>/<name>@<version>",
    ],
    [
      "no version",
      ["local/a"],
      () => "local/a: name a version, local/a@<version>; the registry holds 1.0.0, 1.1.0",
    ],
    [
      "a version that is not a path segment",
      ["local/a@.."],
      () => "'local/a@..': the text after the @ is not a version",
    ],
    [
      "a missing version",
      ["local/a@2.0.0"],
      () =>
        `registry error for 'local/a/2.0.0': not found: ${there("a", "2.0.0")}.mur.zip: No such file or directory (os error 2); the registry holds 1.0.0, 1.1.0`,
    ],
    [
      "a missing name",
      ["local/x@1.0.0"],
      () =>
        `registry error for 'local/x/1.0.0': not found: ${there("x", "1.0.0")}.mur.zip: No such file or directory (os error 2); the registry ${registry().path} holds no version of local/x`,
    ],
    [
      "a root that cannot be read",
      ["local/broken@1.0.0"],
      () => "manifest extraction failed: 'local/broken/1.0.0': it is not a whole ZIP archive",
    ],
    [
      "text that moves a cursor",
      ["local/\u001b[2J@1"],
      () => "'local/\\u001b[2J@1' is not a full name with a version, <scope>/<name>@<version>",
    ],
    [
      "--why with a missing child",
      ["--why", ROOT, "local/a"],
      () => "local/a: name a version, local/a@<version>; the registry holds 1.0.0, 1.1.0",
    ],
    [
      "no --expect file",
      [ROOT, "--expect", "/nonexistent"],
      () => "--expect /nonexistent: No such file or directory (os error 2)",
    ],
    ["a directory as --expect", [ROOT, "--expect", "/"], () => "--expect /: Is a directory (os error 21)"],
    ["another file as --expect", [ROOT, "--expect", MAIN], () => `--expect ${MAIN}: is not valid JSON`],
  ])("%s", async (_, args, sentence) => {
    const { status, stdout, stderr } = await here(...args);
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: "",
      stderr: `formation: ${sentence()}\n`,
    });
  });

  test("no home and no registry", async () => {
    const { status, stderr } = await formation([ROOT], { HOME: "" });
    expect([status, stderr]).toEqual([2, "formation: HOME is not an absolute path: give --registry-path\n"]);
  });

  test("an archive above 512 MiB, in the tree and as the root", async () => {
    using large = testRegistry();
    await large.publish(ROOT, spawns("local/huge"));
    large.publishBytes("local/huge@1.0.0", new Uint8Array());
    const zip = join(large.path, "local/huge/1.0.0/huge-1.0.0.mur.zip");
    truncateSync(zip, 512 * 1024 * 1024 + 1);
    const run = (root: string) => formation([root, "--registry-path", large.path]);
    const fault = `registry error for 'local/huge/1.0.0': ${zip}: larger than 512 MiB`;
    const inTree = await run(ROOT);
    expect(inTree.status).toBe(1);
    expect(inTree.stdout).toContain(`└── local/huge@1.0.0    cannot be resolved\n      ${fault}\n`);
    expect(await run("local/huge@1.0.0")).toEqual({ status: 2, stdout: "", stderr: `formation: ${fault}\n` });
  });

  test("a registry that changes during the run", async () => {
    using moving = testRegistry();
    const names = Array.from({ length: 12 }, (_, index) => `local/c${index}`);
    await moving.publish(ROOT, spawns(...names));
    let ended = 0;
    const runs = Array.from({ length: 4 }, async () => {
      const run = await formation([ROOT, "--registry-path", moving.path, "--format", "json"]);
      ended++;
      return run;
    });
    for (let turn = 0; ended < runs.length; turn++) {
      const name = names[turn % names.length] ?? "";
      if (turn % 3 === 0) moving.remove(name);
      else await moving.publish(`${name}@1.0.0`, { shell: { allow: turn % 2 ? ["git"] : [] } });
      await new Promise((next) => setImmediate(next));
    }
    for (const { status, stdout, stderr } of await Promise.all(runs)) {
      expect([status <= 1, stderr, parseFormation(stdout).ok]).toEqual([true, "", true]);
    }
  });

  test("a fault in the arguments is followed by a line of usage", async () => {
    const { status, stdout, stderr } = await here("--help");
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(`formation: unknown argument: --help\n${formationUsage()}\n`);
  });
});
