/** `npm run pack`: what it publishes, the daemon grants. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { platformName } from "../../src/registry/places.ts";
import { ROOT } from "../kit/documents.ts";
import { endAfterTest } from "../kit/end-after-test.ts";
import { Caller, createHost, type Host, publishCapsule, spawns } from "../kit/host.ts";
import { until } from "../kit/until.ts";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";

setDefaultTimeout(120_000);

let host: Host;
beforeAll(() => {
  host = createHost();
});
afterAll(() => host[Symbol.asyncDispose]());

const MANIFEST = `name: worker
version: 1.0.0
capabilities:
  network: {allow: [api.example.com, example.org]}
  shell: {allow: [git]}
  filesystem: {scope: src, workdir_exec: true}
artifacts: [{capabilities: {state: {store: notes}}}]
`;

function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(host.home, name);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

function pack(...args: string[]) {
  const { stdout, stderr, exitCode } = Bun.spawnSync(
    [process.execPath, join(ROOT, "scripts/pack.ts"), ...args],
    {
      cwd: host.home,
      env: { PATH: process.env.PATH ?? "", HOME: host.home },
    },
  );
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

test("a folder becomes an artifact that the daemon resolves, under the name and version of its manifest", async () => {
  const path = folder("worker", {
    "murmur.yaml": MANIFEST,
    "run.sh": "#!/bin/sh\n",
    ".secret": "not packed",
  });
  chmodSync(join(path, "run.sh"), 0o755);
  mkdirSync(join(path, "prompts"));
  writeFileSync(join(path, "prompts", "system.md"), "You are a worker.\n");

  const first = pack("worker");
  expect(first.stderr).toBe("");
  const place = join(host.registry, "local/worker/1.0.0");
  const sha256 = readFileSync(join(place, "worker-1.0.0.sha256"), "utf8").trim();
  expect(first.stdout).toBe(`local/worker@1.0.0
  ${place}/worker-1.0.0.mur.zip
  sha256 ${sha256}
what the daemon holds of it:
  capabilities.network.allow: api.example.com, example.org
  capabilities.shell.allow: git
  capabilities.filesystem.scope: src
  capabilities.filesystem.workdir_exec: true
  capabilities.state.store: notes
  capabilities.containment: advisory
`);
  expect(readdirSync(place).sort()).toEqual(["worker-1.0.0.mur.zip", "worker-1.0.0.sha256"]);
  expect(readdirSync(host.registry)).toEqual(["local"]);
  // The same folder gives the same bytes, and other files there are kept.
  writeFileSync(join(place, "worker-1.0.0.meta.json"), "{}");
  expect(pack("worker").stdout).toBe(first.stdout);
  expect(readdirSync(place)).toHaveLength(3);

  const capabilities = MANIFEST.slice(MANIFEST.indexOf("capabilities:")).replace(
    "capabilities:\n",
    spawns("local/worker"),
  );
  await publishCapsule(host.registry, "local/parent", capabilities);
  const caller = Caller.of(await host.start(["--spawn-allow", "local/parent"]));
  const credential = await caller.credential("ses_parent", "local/parent");
  const answer = await caller.spawn(credential, "local/worker", "1.0.0");
  expect({ status: answer.status, sha256: answer.json.sha256 }).toEqual({ status: 200, sha256 });
});

test.skipIf(Bun.which("unzip") === null)(
  "the archive holds every file with its bits, and nothing hidden",
  () => {
    folder("whole", {
      "murmur.yaml": "name: local/whole\nversion: 2.0.0\n",
      "run.sh": "#!/bin/sh\n",
      ".env": "A=1",
    });
    chmodSync(join(host.home, "whole/run.sh"), 0o755);
    expect(pack("whole", "--registry-path", "elsewhere").exitCode).toBe(0);
    const zip = join(host.home, "elsewhere/local/whole/2.0.0/whole-2.0.0.mur.zip");
    const listed = Bun.spawnSync(["unzip", "-Z", "-s", zip]).stdout.toString();
    const entries = [...listed.matchAll(/^(-\S+).* (\S+)$/gm)].map(([, mode, name]) => `${mode} ${name}`);
    expect(entries).toEqual(["-rw-r--r-- murmur.yaml", "-rwxr-xr-x run.sh"]);
  },
);

test.each([
  ["a broken manifest", { "murmur.yaml": "name: [\n" }, "manifest parse error: "],
  [
    "a text for a list",
    { "murmur.yaml": "name: a\nversion: 1.0.0\ncapabilities: {shell: {allow: git}}\n" },
    "capabilities.shell.allow: must be a list",
  ],
  ["a bad name", { "murmur.yaml": "name: Worker\nversion: 1.0.0\n" }, "name must be"],
  ["a bad version", { "murmur.yaml": "name: worker\nversion: a/b\n" }, "version must be"],
  ["no manifest", {}, "murmur.yaml: No such file or directory (os error 2)"],
])("%s is reported in one line, and nothing is published", (what, files, fault) => {
  const path = folder(what.replaceAll(" ", "-"), files);
  const registry = join(path, ".registry");
  const { exitCode, stdout, stderr } = pack(path, `--registry-path=${registry}`);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toStartWith("pack: ");
  expect(stderr).toContain(fault);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(readdirSync(path).filter((name) => name === ".registry")).toEqual([]);
});

test("a link is refused, and nothing is written to the registry", () => {
  const path = folder("linked", { "murmur.yaml": "name: linked\nversion: 1.0.0\n" });
  symlinkSync("/etc/hostname", join(path, "hostname"));
  const { exitCode, stderr } = pack(path, "--registry-path", "third");
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`${path}/hostname is neither a file nor a folder`);
  expect(readdirSync(join(host.home, "third"))).toEqual([]);
});

test.each([[[]], [["one", "two"]], [["worker", "--registry-path"]], [["worker", "--force"]]])(
  "%j prints the usage",
  (args) => {
    const { exitCode, stderr } = pack(...args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("usage: npm run pack -- FOLDER [--registry-path DIR]");
  },
);

test("a folder that holds another capsule becomes an artifact, whatever is in that capsule", () => {
  const path = folder("nest", { "murmur.yaml": "name: nest\nversion: 1.0.0\n" });
  // It does not shrink, so its bytes stay as they are.
  const content = randomBytes(100_000);
  const inner = zipBytes([
    { name: "data", content, method: STORED },
    { name: "murmur.yaml", content: "name: inner\n", method: STORED },
    { name: "more", content, method: STORED },
  ]);
  writeFileSync(join(path, "inner.bin"), inner);
  const { exitCode, stderr } = pack("nest");
  expect([exitCode, stderr]).toEqual([0, ""]);
  const place = join(host.registry, "local/nest/1.0.0/nest-1.0.0.mur.zip");
  expect(readFileSync(place).includes("name: inner")).toBe(true);
});

test("what a manifest declares is shown as it is, and cannot look like another line", () => {
  folder("forger", {
    "murmur.yaml": String.raw`name: forger
version: 1.0.0
capabilities:
  shell: {allow: ["git\n  capabilities.containment: sealed\e[8m", "a, b"]}
  filesystem: {scope: "the whole work folder"}
`,
  });
  const { stdout, stderr } = pack("forger");
  expect(stderr).toBe("");
  expect(stdout.split("\n").slice(4)).toEqual([
    String.raw`  capabilities.shell.allow: "git\n  capabilities.containment: sealed\u001b[8m", "a, b"`,
    `  capabilities.filesystem.scope: "the whole work folder"`,
    "  capabilities.containment: advisory",
    "",
  ]);
});

test("an archive that the daemon would not take, because the platform's own comes first, is not published", async () => {
  folder("native", { "murmur.yaml": "name: native\nversion: 1.0.0\n" });
  expect(pack("native").exitCode).toBe(0);
  const place = join(host.registry, "local/native/1.0.0");
  for (const ending of ["mur.zip", "sha256"]) {
    copyFileSync(
      join(place, `native-1.0.0.${ending}`),
      join(place, `native-1.0.0-${platformName()}.${ending}`),
    );
  }
  const before = readFileSync(join(place, "native-1.0.0.mur.zip"));
  folder("native", { "murmur.yaml": "name: native\nversion: 1.0.0\ndescription: Another.\n" });
  const { exitCode, stderr } = pack("native");
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`native-1.0.0-${platformName()}.mur.zip comes first on this platform: move it`);
  expect(readFileSync(join(place, "native-1.0.0.mur.zip"))).toEqual(before);
  // A version may be named like a platform.
  folder("native", { "murmur.yaml": `name: native\nversion: 1.0.0-${platformName()}\n` });
  expect([pack("native").exitCode, pack("native").exitCode]).toEqual([0, 0]);
  folder("native", { "murmur.yaml": "name: native\nversion: 1.0.0\n" });
  // Half of a pair does not come first.
  rmSync(join(place, `native-1.0.0-${platformName()}.sha256`));
  expect(pack("native").exitCode).toBe(0);
});

test.each(["a\\b", Buffer.from("caf\xe9", "latin1")])(
  "a file name that would become another one is refused: %p",
  (name) => {
    const path = folder("renamed", { "murmur.yaml": "name: renamed\nversion: 1.0.0\n" });
    const file = Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name)]);
    writeFileSync(file, "");
    const { exitCode, stderr } = pack("renamed");
    rmSync(file);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("rename it: a name must be UTF-8 and without a backslash");
  },
);

test("nobody need read what is printed, and a full disk for it is said", () => {
  folder("unread", { "murmur.yaml": "name: unread\nversion: 1.0.0\n" });
  const command = `'${process.execPath}' '${join(ROOT, "scripts/pack.ts")}' unread`;
  const shell = (line: string) => {
    const env = { PATH: process.env.PATH ?? "", HOME: host.home };
    const { stderr, exitCode } = Bun.spawnSync(["bash", "-o", "pipefail", "-c", line], {
      cwd: host.home,
      env,
    });
    return { exitCode, stderr: stderr.toString() };
  };
  expect(shell(`${command} | true`)).toEqual({ exitCode: 0, stderr: "" });
  if (!existsSync("/dev/full")) return;
  expect(shell(`${command} > /dev/full`)).toEqual({
    exitCode: 1,
    stderr: "pack: packed, but standard output could not be written: No space left on device (os error 28)\n",
  });
});

test("interrupted, it leaves nothing half-written in the registry", async () => {
  const path = folder("large", { "murmur.yaml": "name: large\nversion: 1.0.0\n" });
  writeFileSync(join(path, "data"), randomBytes(64 * 1024 * 1024));
  const registry = join(host.home, "interrupted");
  const packing = endAfterTest(
    Bun.spawn([process.execPath, join(ROOT, "scripts/pack.ts"), path, "--registry-path", registry], {
      stdio: ["ignore", "ignore", "ignore"],
    }),
  );
  await until("it has begun", () => existsSync(registry) && readdirSync(registry).length > 0);
  packing.kill("SIGINT");
  expect([0, 130]).toContain(await packing.exited);
  expect(readdirSync(registry).filter((name) => name.startsWith("."))).toEqual([]);
  rmSync(path, { recursive: true });
});

test("a file that grows meanwhile is said, and nothing is left in the registry", async () => {
  const path = folder("growing", { "murmur.yaml": "name: growing\nversion: 1.0.0\n", log: "" });
  // It is packed first, so the other file has grown when its turn comes.
  // In hexadecimal digits: they do not look like an archive in the archive.
  writeFileSync(join(path, "data"), randomBytes(8 * 1024 * 1024).toString("hex"));
  const log = join(path, "log");
  endAfterTest(Bun.spawn(["sh", "-c", `while :; do echo more >> '${log}'; done`]));
  await until("it grows", () => statSync(log).size > 0);
  const registry = join(host.home, "grown");
  const { exitCode, stdout, stderr } = pack(path, "--registry-path", registry);
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^pack: [^\n]+\n$/);
  expect(readdirSync(registry)).toEqual([]);
});

test("a registry in the folder that is packed is refused, unless a dot hides it", () => {
  const path = folder("around", { "murmur.yaml": "name: around\nversion: 1.0.0\n" });
  for (const registry of [path, join(path, "registry"), join(path, "packed/here")]) {
    const { exitCode, stderr } = pack(path, "--registry-path", registry);
    expect([registry, exitCode, stderr]).toEqual([
      registry,
      1,
      `pack: ${registry} lies in the folder that is packed: name another place with --registry-path\n`,
    ]);
    expect(readdirSync(path)).toEqual(["murmur.yaml"]);
  }
  for (const registry of [join(path, ".hidden"), `${path}-beside`]) {
    expect(pack(path, "--registry-path", registry)).toMatchObject({ exitCode: 0 });
  }
});
