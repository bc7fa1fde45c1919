/** The compiled daemon started in a directory that holds everything Bun would obey if it were Bun. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { compiledBinary } from "../kit/binary.ts";
import { startDaemonProcess } from "../kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const scratch = scratchDirectory();
afterAll(() => scratch[Symbol.dispose]());

/** Whatever runs this file leaves the mark, and gets no further. */
const mark = join(scratch.path, "mark");
const EVIL = `require("node:fs").writeFileSync(${JSON.stringify(mark)}, ""); process.exit(66);`;

const home = join(scratch.path, "home");
mkdirSync(home);

const hostile = directoryWith("hostile", {
  "evil.js": EVIL,
  "bunfig.toml":
    'preload = ["./evil.js"]\n[run]\npreload = ["./evil.js"]\n[serve.static]\nplugins = ["./evil.js"]\n',
  ".env": `HOME=${home}\nCONSOLA_LEVEL=0\nBUN_OPTIONS=--preload=./evil.js\nNODE_OPTIONS=--require=./evil.js\nPORT=1\n`,
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      baseUrl: ".",
      paths: { "*": ["./evil.js"], elysia: ["./evil.js"], "node:fs": ["./evil.js"], yaml: ["./evil.js"] },
      jsxImportSource: "./evil.js",
    },
  }),
  "package.json": JSON.stringify({
    name: "mur-roost",
    version: "6.6.6",
    type: "commonjs",
    main: "./evil.js",
    exports: "./evil.js",
    imports: { "#*": "./evil.js" },
    browser: { "node:fs": "./evil.js", yauzl: "./evil.js" },
    overrides: { elysia: "file:./evil.js" },
    scripts: { preinstall: "exit 66" },
  }),
});
// The names that the bundled program was written with, for a resolver that looks on disk after all.
for (const name of ["elysia", "consola", "supports-color"]) {
  directoryWith(`hostile/node_modules/${name}`, { "index.js": EVIL, "package.json": `{"main":"index.js"}` });
}

const broken = directoryWith(
  "broken",
  Object.fromEntries(
    ["bunfig.toml", ".env", "tsconfig.json", "package.json"].map((name) => [name, '{"[\0=\n']),
  ),
);

function directoryWith(name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(scratch.path, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(directory, file), content);
  return directory;
}

function run(command: readonly string[], cwd: string, env: Record<string, string>) {
  const ended = Bun.spawnSync([...command], { cwd, env, stdin: "ignore" });
  return { code: ended.exitCode, stdout: ended.stdout.toString(), stderr: ended.stderr.toString() };
}

test("the directory is hostile: it misleads Bun itself", () => {
  writeFileSync(join(hostile, "harmless.ts"), "");
  expect(run([process.execPath, "harmless.ts"], hostile, { HOME: home }).code).toBe(66);
  expect(existsSync(mark)).toBe(true);
  rmSync(mark);
});

describe.each([
  ["hostile", hostile],
  ["broken", broken],
])("in the %s directory", (_, cwd) => {
  test("--version prints the compiled version", () => {
    expect(run([compiledBinary(), "--version"], cwd, { HOME: home })).toEqual({
      code: 0,
      stdout: `mur-roost ${VERSION}\n`,
      stderr: "",
    });
  });

  test("the environment is the process's own, and HOME is not read from .env", () => {
    const { code, stderr } = run([compiledBinary()], cwd, {});
    expect(stderr).toContain("the home directory could not be resolved: HOME is not set");
    expect(code).toBe(1);
  });

  test("the daemon starts, decides, reads a large manifest on its thread, and logs", async () => {
    const manifest = `name: large\nversion: 0.1.0\n# ${"a comment of some length ".repeat(1000)}\n`;
    publishArchive(
      join(home, ".murmur/artifacts"),
      "local/large",
      "0.1.0",
      await packCapsule({ "murmur.yaml": manifest }),
    );
    const daemon = await startDaemonProcess({
      command: [compiledBinary()],
      args: ["--port", "0", "--spawn-allow", "local/large"],
      home,
      cwd,
    });
    try {
      const answer = await fetch(`${daemon.url}/register`, {
        method: "POST",
        body: JSON.stringify({ session_id: "root", name: "local/large", version: "0.1.0" }),
      });
      expect(await answer.json()).toEqual({ credential: expect.stringMatching(/^msc1\./) });
      expect(answer.status).toBe(200);
    } finally {
      expect(await daemon.stop()).toBe(0);
    }
    // .env would have silenced it.
    expect(daemon.stderr()).toContain("event=register session=root capsule=local/large@0.1.0");
    expect(existsSync(mark)).toBe(false);
  });
});
