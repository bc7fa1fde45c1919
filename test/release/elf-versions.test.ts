import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { checkGlibc, readVersionNeeds, type VersionNeed } from "../../scripts/release/elf-versions.ts";
import { type ElfNeeds, syntheticElf } from "../kit/synthetic-elf.ts";

function needsOf(file: Uint8Array): readonly VersionNeed[] {
  const needs = readVersionNeeds(file);
  if (!needs.ok) throw new Error(needs.fault);
  return needs.value;
}

/** The verdict over a file with these needs, under the limit that the page promises. */
function verdict(needs: ElfNeeds): string {
  const checked = checkGlibc(needsOf(syntheticElf(needs)), [2, 34]);
  return checked.ok ? checked.value : checked.fault;
}

test("reads every library's needs, in the file's order", () => {
  const needs = { "libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.17"], "libm.so.6": ["GLIBC_2.29"] };
  expect(needsOf(syntheticElf(needs))).toEqual([
    { library: "libc.so.6", version: "GLIBC_2.2.5" },
    { library: "libc.so.6", version: "GLIBC_2.17" },
    { library: "libm.so.6", version: "GLIBC_2.29" },
  ]);
});

test("a damaged file causes a fault and not an exception", () => {
  const file = syntheticElf({ "libc.so.6": ["GLIBC_2.17"] });
  for (let length = 0; length < file.length; length++) {
    expect(readVersionNeeds(file.subarray(0, length)).ok).toBe(false);
  }
  expect(readVersionNeeds(Buffer.from("#!/bin/sh\necho no ELF file, but long enough\n".repeat(9))).ok).toBe(
    false,
  );
});

test.skipIf(process.platform !== "linux")("reads the real file that runs this", () => {
  const needs = needsOf(readFileSync(process.execPath));
  expect(needs.map(({ library }) => library)).toContain("libc.so.6");
  expect(checkGlibc(needs, [2, 34]).ok).toBe(true);
  expect(checkGlibc(needs, [2, 1])).toEqual({
    ok: false,
    fault: expect.stringContaining("GLIBC_2.1 is the newest"),
  });
});

describe("the check of glibc versions", () => {
  test("accepts versions up to the limit, compared as numbers", () => {
    expect(verdict({ "libc.so.6": ["GLIBC_2.9", "GLIBC_2.34", "GLIBC_2.2.5"] })).toBe("GLIBC_2.34");
    expect(verdict({ "libc.so.6": ["GLIBC_2.4"], "libm.so.6": ["GLIBC_2.29"] })).toBe("GLIBC_2.29");
  });

  test("refuses a version above the limit in any library", () => {
    const above = "libm.so.6 must provide GLIBC_2.35, and GLIBC_2.34 is the newest that is promised";
    expect(verdict({ "libc.so.6": ["GLIBC_2.17"], "libm.so.6": ["GLIBC_2.35"] })).toBe(above);
    expect(verdict({ "libc.so.6": ["GLIBC_2.34.1"] })).toContain("GLIBC_2.34.1");
    expect(verdict({ "libc.so.6": ["GLIBC_3.0"] })).toContain("GLIBC_3.0");
  });

  test("refuses a version that is not a number, since it names a loader feature or one build", () => {
    expect(verdict({ "libc.so.6": ["GLIBC_2.17", "GLIBC_ABI_DT_RELR"] })).toContain("GLIBC_ABI_DT_RELR");
    expect(verdict({ "libc.so.6": ["GLIBC_PRIVATE"] })).toContain("GLIBC_PRIVATE");
  });

  test("ignores versions of other libraries, and refuses a file without any glibc version", () => {
    expect(verdict({ "libgcc_s.so.1": ["GCC_4.2.0"], "libc.so.6": ["GLIBC_2.17"] })).toBe("GLIBC_2.17");
    expect(verdict({ "libgcc_s.so.1": ["GCC_4.2.0"] })).toContain("not name any GLIBC version");
  });
});
