/** The files under packaging/: what reads them on a host reads them here, and their flags are the daemon's. */

import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parsePlist } from "plist";
import { readFlags } from "../../src/cli/flags.ts";
import { compiledBinary } from "../kit/binary.ts";
import { documents, ROOT } from "../kit/documents.ts";
import { scratchDirectory } from "../kit/scratch.ts";

/** What a compiled Bun program obeys before its first line. */
const OBEYED = ["BUN_OPTIONS", "BUN_INSPECT", "BUN_INSPECT_CONNECT_TO", "BUN_BE_BUN"];
const QUIET = { BUN_ENABLE_CRASH_REPORTING: "0", DO_NOT_TRACK: "1" };

function file(name: string): string {
  return readFileSync(join(ROOT, "packaging", name), "utf8");
}

function startsTheDaemon(command: readonly string[]): void {
  const [program = "", ...args] = command;
  expect(program.split("/").at(-1)).toBe("mur-roost");
  expect(readFlags(args)).toMatchObject({
    kind: "run",
    flags: { spawnAllow: new Set(["local/orchestrator"]) },
  });
}

describe("the systemd unit", () => {
  const unit = file("mur-roost.service");

  test.skipIf(Bun.which("systemd-analyze") === null)("is accepted by systemd", () => {
    using home = scratchDirectory();
    mkdirSync(join(home.path, ".local/bin"), { recursive: true });
    copyFileSync(compiledBinary(), join(home.path, ".local/bin/mur-roost"));
    const verify = (path: string) => {
      const env = { PATH: process.env.PATH ?? "", HOME: home.path, XDG_RUNTIME_DIR: home.path };
      const { exitCode, stderr } = Bun.spawnSync(["systemd-analyze", "--user", "verify", path], { env });
      return { exitCode, told: stderr.toString() };
    };
    expect(verify(join(ROOT, "packaging/mur-roost.service"))).toEqual({ exitCode: 0, told: "" });
    const wrong = join(home.path, "wrong.service");
    Bun.spawnSync(["sed", "s/^NoNewPrivileges/NoNewPrivilege/", join(ROOT, "packaging/mur-roost.service")], {
      stdout: Bun.file(wrong),
    });
    expect(verify(wrong).told).toContain("NoNewPrivilege");
  });

  test("starts the daemon without any environment variable that changes its runtime", () => {
    const settings = new Map(
      unit.split("\n").flatMap((line) => {
        const at = line.indexOf("=");
        return line.startsWith("#") || at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
      }),
    );
    startsTheDaemon((settings.get("ExecStart") ?? "").split(" "));
    expect(settings.get("UnsetEnvironment")?.split(" ")).toEqual(OBEYED);
    const environment = (settings.get("Environment") ?? "").split(" ").map((pair) => pair.split("="));
    expect(Object.fromEntries(environment)).toEqual(QUIET);
    expect(settings.has("MemoryDenyWriteExecute")).toBe(false);
    expect(unit).toContain("# No MemoryDenyWriteExecute");
  });
});

test("the launchd agent starts the daemon without any variable that changes its runtime", () => {
  const agent = parsePlist(file("rs.murmur.roost.plist")) as Record<string, unknown>;
  expect(agent).toMatchObject({
    Label: "rs.murmur.roost",
    RunAtLoad: true,
    KeepAlive: true,
    EnvironmentVariables: QUIET,
  });
  const [env, ...rest] = agent.ProgramArguments as string[];
  expect(env).toBe("/usr/bin/env");
  const unset = OBEYED.flatMap((name) => ["-u", name]);
  expect(rest.slice(0, unset.length)).toEqual(unset);
  startsTheDaemon(rest.slice(unset.length));
});

test("the container has an init as its first process, and runs the daemon as an ordinary user", () => {
  const instructions = file("Dockerfile")
    .replaceAll("\\\n", "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split(/ (.*)/s) as [string, string]);
  const known = ["FROM", "RUN", "COPY", "USER", "WORKDIR", "ENV", "ENTRYPOINT", "CMD"];
  expect(instructions.filter(([name]) => !known.includes(name))).toEqual([]);
  const values = new Map(instructions);
  expect(values.get("USER")).toBe("mur");
  expect(JSON.parse(values.get("ENTRYPOINT") ?? "")).toEqual(["tini", "--"]);
  startsTheDaemon(JSON.parse(values.get("CMD") ?? ""));
});

test.each(["Dockerfile", "mur-roost.service", "rs.murmur.roost.plist"])("a document names %s", (name) => {
  expect(documents().filter(({ text }) => text.includes(`packaging/${name}`))).not.toEqual([]);
});
