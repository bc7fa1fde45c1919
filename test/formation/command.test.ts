import { describe, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formationUsage, readFormationFlags } from "../../src/cli/formation/flags.ts";
import { parseFormation } from "../../src/formation/index.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { shared } from "../kit/shared.ts";
import { spawns, testRegistry } from "./kit.ts";

const MAIN = join(import.meta.dir, "../../src/cli/formation/main.ts");
const ROOT = "local/root@1.0.0";
const WHOLE = "local/whole@1.0.0";

const registry = shared(async (undo) => {
  const made = undo.use(testRegistry());
  await made.publish(ROOT, spawns("local/a", "local/b"));
  await made.publish("local/a@1.0.0");
  await made.publish("local/a@1.1.0", { shell: { allow: ["git"] } });
  await made.publish(WHOLE, spawns("local/leaf"));
  await made.publish("local/leaf@1.0.0");
  made.publishBytes("local/broken@1.0.0", Buffer.from("no archive"));
  return made;
});

interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function formation(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const child = Bun.spawn([process.execPath, MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // Without a home, Bun would keep what it transpiled in the current folder.
    env: { HOME: registry().path, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...env },
  });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}

const here = (...args: string[]) => formation([...args, "--registry-path", registry().path]);

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

  test.each([
    [[], "name the capsule to start at, SCOPE/NAME@VERSION"],
    [["--max-dep", "3", ROOT], "unknown argument: --max-dep"],
    [["-h"], "unknown argument: -h"],
    [[ROOT, "more"], "unknown argument: more"],
    [[ROOT, "--port", "1"], "unknown argument: --port"],
    [
      [ROOT, "--max-depth", "-1"],
      "invalid --max-depth: it takes a whole number from 0 to 4294967295, not '-1'",
    ],
    [[ROOT, "--max-depth"], "--max-depth needs a value"],
    [[ROOT, "--format", "xml"], "invalid --format: it takes one of text, json, mermaid, dot"],
    [
      [ROOT, "--platform", "plan9"],
      "invalid --platform: it takes one of linux-x86_64, linux-aarch64, darwin-x86_64, darwin-aarch64",
    ],
    [[ROOT, "--registry-path="], "invalid --registry-path: it must not be empty"],
    [["--why", ROOT], "--why needs two capsules, PARENT CHILD"],
    [[ROOT, "--why", ROOT, ROOT], "--why takes two capsules and cannot be combined with a root or --expect"],
    [["--why", ROOT, ROOT, "--format", "json"], "--why prints text; leave --format out"],
    [[ROOT, "--expect", "x", "--format", "dot"], "--expect prints text; leave --format out"],
  ])("arguments: %j", (args, fault) => {
    expect(readFormationFlags(args)).toEqual({ kind: "fault", fault });
  });

  test("a fault in the arguments is followed by a line of usage", async () => {
    const { status, stdout, stderr } = await here("--help");
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(`formation: unknown argument: --help\n${formationUsage()}\n`);
  });
});

test("arguments take their value from the next one or after an equals sign; the last one counts", () => {
  const args = [
    "--max-depth=1",
    "--max-depth",
    "2",
    ROOT,
    "--max-live-capsules=9",
    "--platform=darwin-x86_64",
  ];
  expect(readFormationFlags([...args, "--format", "dot", "--registry-path", "a=b"])).toEqual({
    kind: "run",
    flags: {
      task: { kind: "show", root: ROOT, format: "dot" },
      registryPath: "a=b",
      platform: "darwin-x86_64",
      limits: { maxDepth: 2, maxLiveCapsules: 9 },
    },
  });
});

describe("standard output", () => {
  /** On its own terminal, by `script`, which every Linux has. */
  async function onTerminal(env: Record<string, string>): Promise<string> {
    const command = `${process.execPath} ${MAIN} ${ROOT} --registry-path ${registry().path}`;
    const child = Bun.spawn(["script", "--quiet", "--return", "--command", command, "/dev/null"], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env.PATH ?? "", HOME: registry().path, TERM: "xterm", ...env },
    });
    const text = await child.stdout.text();
    expect(await child.exited).toBe(1);
    return text;
  }

  test.skipIf(!Bun.which("script"))("has colour on a terminal, and none with NO_COLOR", async () => {
    expect(await onTerminal({})).toContain("\u001b[32mgranted\u001b[0m");
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain("\u001b");
    expect((await here(ROOT)).stdout).not.toContain("\u001b");
  });

  test("does not fail if the reader goes away, but fails if the disk is full", async () => {
    const command = (rest: string) => [
      "sh",
      "-c",
      `"$0" "$1" ${ROOT} --registry-path "$2" --format json ${rest}`,
      process.execPath,
      MAIN,
      registry().path,
    ];
    const gone = Bun.spawn(command("| true"), { stdio: ["ignore", "pipe", "pipe"] });
    expect([await gone.exited, await gone.stderr.text()]).toEqual([0, ""]);
    const full = Bun.spawn(command("> /dev/full"), { stdio: ["ignore", "pipe", "pipe"] });
    expect([await full.exited, await full.stderr.text()]).toEqual([
      2,
      "formation: the answer could not be written to standard output: No space left on device (os error 28)\n",
    ]);
  });

  test("is written completely to a file and a slow pipe", async () => {
    using scratch = scratchDirectory();
    using large = testRegistry();
    const names = Array.from({ length: 2000 }, (_, index) => `local/absent-${index}`);
    await large.publish(ROOT, spawns(...names));
    const path = join(scratch.path, "out");
    const file = openSync(path, "w");
    const args = [process.execPath, MAIN, ROOT, "--registry-path", large.path, "--format", "json"];
    await Bun.spawn(args, { stdio: ["ignore", file, "ignore"] }).exited;
    closeSync(file);
    const written = readFileSync(path, "utf8");
    expect(parseFormation(written).ok).toBe(true);
    const slow = Bun.spawn(args, { stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of slow.stdout) {
      text += decoder.decode(bytes, { stream: true });
      await new Promise((turn) => setImmediate(turn));
    }
    expect(text).toBe(written);
  });
});
