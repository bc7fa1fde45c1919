import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import type { ArtifactVersion } from "../../src/registry/artifact-name.ts";
import { isUnchanged, locate } from "../../src/registry/places.ts";
import { nameOf } from "../kit/in-process.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const coordinates = { name: nameOf("local/tool"), version: "0.1.0" as ArtifactVersion };
let scratch: ReturnType<typeof scratchDirectory>;
let base: string;
const find = () => locate(coordinates, { path: scratch.path, platform: "mine", now: () => 42 });

beforeEach(() => {
  scratch = scratchDirectory();
  base = join(scratch.path, "local/tool/0.1.0/tool-0.1.0");
  mkdirSync(dirname(base), { recursive: true });
});
afterEach(() => scratch[Symbol.dispose]());

const write = (...files: string[]) => {
  for (const file of files) writeFileSync(`${base}${file}`, "");
};
const OWN = ["-mine.mur.zip", "-mine.sha256"];
const ANY = [".mur.zip", ".sha256"];

const missing = (file: string) => ({
  ok: false as const,
  fault: `not found: ${base}${file}: No such file or directory (os error 2)`,
});

describe("an artifact", () => {
  test("is the complete pair for this platform, or else the complete pair for any platform", () => {
    const places: [files: string[], chosen: string, seen: string[]][] = [
      [[...OWN, ...ANY], "-mine", OWN],
      [OWN, "-mine", OWN],
      [ANY, "", ["-mine.mur.zip", ...ANY]],
    ];
    for (const [files, chosen, seen] of places) {
      using fresh = scratchDirectory();
      base = join(fresh.path, "local/tool/0.1.0/tool-0.1.0");
      mkdirSync(dirname(base), { recursive: true });
      write(...files);
      const found = locate(coordinates, { path: fresh.path, platform: "mine", now: () => 42 });
      if (!found.ok) throw new Error(found.fault);
      const { place } = found;
      expect([place.zip.path, place.sidecar.path, place.seenAt]).toEqual([
        `${base}${chosen}.mur.zip`,
        `${base}${chosen}.sha256`,
        42,
      ]);
      expect(place.seen.map(({ path }) => path.slice(base.length))).toEqual(seen);
      expect(place.seen.map(({ stamp }) => stamp !== undefined)).toEqual(
        seen.map((one) => files.includes(one)),
      );
    }
  });

  test("is found also where only the name of the pair for this platform would be too long", () => {
    const long = { name: nameOf(`local/${"n".repeat(100)}`), version: "é".repeat(70) as ArtifactVersion };
    base = join(scratch.path, "local", "n".repeat(100), long.version, `${"n".repeat(100)}-${long.version}`);
    mkdirSync(dirname(base), { recursive: true });
    write(...ANY);
    const found = locate(long, { path: scratch.path, platform: "linux-x86_64", now: () => 42 });
    if (!found.ok) throw new Error(found.fault);
    expect(found.place.zip.path).toBe(`${base}.mur.zip`);
    expect(isUnchanged(found.place.seen)).toBe(true);
    const longer = { ...long, version: "é".repeat(80) as ArtifactVersion };
    mkdirSync(join(dirname(base), "..", longer.version));
    expect(locate(longer, { path: scratch.path, platform: "linux-x86_64", now: () => 42 })).toEqual({
      ok: false,
      fault: expect.stringContaining(".mur.zip: File name too long (os error "),
    });
  });

  test("is still searched for if half of the pair for this platform is missing", () => {
    write("-mine.mur.zip", ...ANY);
    const found = find();
    expect(found.ok && found.place.zip.path).toBe(`${base}.mur.zip`);
    expect(found.ok && found.place.seen.map(({ path }) => path.slice(base.length))).toEqual([...OWN, ...ANY]);
  });

  test("that does not exist reports what is missing from the pair for any platform", () => {
    expect(find()).toEqual(missing(".mur.zip"));
    write(".sha256");
    expect(find()).toEqual(missing(".mur.zip"));
    write("-mine.sha256");
    expect(find()).toEqual(missing(".mur.zip"));
  });

  test("that has no sidecar is reported as such, for this platform only if there is no archive for any", () => {
    write("-mine.mur.zip");
    expect(find()).toEqual(missing("-mine.sha256"));
    write(".sha256");
    expect(find()).toEqual(missing("-mine.sha256"));
    rmSync(`${base}.sha256`);
    write(".mur.zip");
    expect(find()).toEqual(missing(".sha256"));
  });

  test("that cannot be accessed is reported with the path and the reason", () => {
    symlinkSync("tool-0.1.0.mur.zip", `${base}.mur.zip`);
    expect(find()).toEqual({
      ok: false,
      fault: `${base}.mur.zip: Too many levels of symbolic links (os error ${constants.errno.ELOOP})`,
    });
  });
});
