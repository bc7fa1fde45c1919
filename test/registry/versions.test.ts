import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { listVersions } from "../../src/registry/versions.ts";
import { nameOf } from "../kit/in-process.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const NAME = nameOf("local/tool");
let scratch: ReturnType<typeof scratchDirectory>;
const list = () => listVersions(scratch.path, NAME);

beforeEach(() => {
  scratch = scratchDirectory();
});
afterEach(() => scratch[Symbol.dispose]());

function publish(version: string, file = `tool-${version}.mur.zip`): void {
  const directory = join(scratch.path, NAME, version);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, file), "");
}

describe("the versions of a name", () => {
  test("are in the order of their numbers", () => {
    for (const version of ["1.10.0", "1.9.0", "1.9.0-b", "1.9.0-a", "1.09.0", "0.1.0"]) publish(version);
    expect(list()).toEqual({
      ok: true,
      versions: ["0.1.0", "1.09.0", "1.9.0", "1.9.0-a", "1.9.0-b", "1.10.0"] as never,
    });
  });

  test("with the same numbers are in the order of their characters, however the directory lists them", () => {
    const versions = Array.from({ length: 8 }, (_, zeros) => `${"0".repeat(zeros)}1.0`);
    for (const version of versions) publish(version);
    expect(list()).toEqual({ ok: true, versions: versions.sort() as never });
  });

  test("are in the folder that the kernel finds, if a link stands before a ..", () => {
    publish("0.1.0");
    const deep = join(scratch.path, "deep");
    mkdirSync(deep);
    using elsewhere = scratchDirectory();
    symlinkSync(deep, join(elsewhere.path, "link"));
    expect(listVersions(`${elsewhere.path}/link/..`, NAME)).toEqual({
      ok: true,
      versions: ["0.1.0"] as never,
    });
  });

  test("are those with an archive for any platform", () => {
    publish("0.1.0", "tool-0.1.0-linux-x86_64.mur.zip");
    publish("0.2.0", "tool-0.2.0.sha256");
    publish(".hidden");
    mkdirSync(join(scratch.path, NAME, "0.3.0"));
    writeFileSync(join(scratch.path, NAME, "0.4.0"), "");
    symlinkSync("nowhere", join(scratch.path, NAME, "0.5.0"));
    publish("with space ");
    expect(list()).toEqual({ ok: true, versions: [".hidden", "0.1.0", "with space "] as never });
  });

  test("can be in a directory that cannot be listed", () => {
    publish("0.1.0");
    symlinkSync("loop", join(scratch.path, NAME, "loop"));
    expect(list()).toEqual({ ok: true, versions: ["0.1.0", "loop"] as never });
  });

  test("are none if the name is missing or is not a directory", () => {
    expect(list()).toEqual({ ok: true, versions: [] });
    writeFileSync(join(scratch.path, "local"), "");
    expect(list()).toEqual({ ok: true, versions: [] });
  });

  test("are unknown if the directory cannot be listed, and the fault names the path and the error", () => {
    mkdirSync(join(scratch.path, "local"));
    symlinkSync("tool", join(scratch.path, NAME));
    expect(list()).toEqual({
      ok: false,
      message: `registry error for 'local/tool': ${scratch.path}/local/tool: Too many levels of symbolic links (os error ${constants.errno.ELOOP})`,
    });
  });
});
