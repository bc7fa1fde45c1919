import { expect, test } from "bun:test";
import { PLATFORMS, platformName } from "../../src/registry/places.ts";

test("a platform is named by its system and processor, as in artifact names", () => {
  expect([...PLATFORMS]).toEqual(["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"]);
  expect(platformName("linux", "x64")).toBe("linux-x86_64");
  expect(platformName("darwin", "arm64")).toBe("darwin-aarch64");
  expect(platformName("freebsd", "riscv64")).toBe("freebsd-riscv64");
  expect(platformName()).toBe(platformName(process.platform, process.arch));
});
