import { expect, test } from "bun:test";
import { parseReleaseFlags } from "../../scripts/release/flags.ts";

test("a release builds twice and contains only its own checksums by default", () => {
  expect(parseReleaseFlags([])).toEqual({ ok: true, value: { buildTwice: true, withChecksums: undefined } });
  const told: ReturnType<typeof parseReleaseFlags> = {
    ok: true,
    value: { buildTwice: false, withChecksums: "a=b.txt" },
  };
  expect(parseReleaseFlags(["--skip-second-build", "--with-checksums", "a=b.txt"])).toEqual(told);
  expect(parseReleaseFlags(["--with-checksums=a=b.txt", "--skip-second-build"])).toEqual(told);
});

test.each([
  [["--with-checksums"], "--with-checksums needs a file"],
  [["--with-checksums="], "--with-checksums needs a file"],
  [["--skip-second-build=no"], "unknown argument: --skip-second-build=no"],
  [["checksums.txt"], "unknown argument: checksums.txt"],
])("%j is refused", (args, fault) => {
  expect(parseReleaseFlags(args)).toEqual({ ok: false, fault: expect.stringContaining(fault) });
});
