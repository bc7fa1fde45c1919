/** The platforms a release is built for, with the names that the installer uses. */

export type ReleaseTarget = {
  /** `<kernel>-<machine>` as the installer derives it from `uname`. */
  readonly platform: "linux-x86_64" | "linux-aarch64" | "darwin-x86_64" | "darwin-aarch64";
  readonly format: "elf" | "mach-o";
  readonly bunTarget: Bun.Build.CompileTarget;
  /** The npm package with this platform's Bun. */
  readonly runtimePackage: keyof typeof import("./runtimes.json")["sha512"];
};

export const TARGETS: readonly ReleaseTarget[] = [
  {
    platform: "linux-x86_64",
    format: "elf",
    // Baseline: the published binary must start on a CPU without AVX2.
    bunTarget: "bun-linux-x64-baseline",
    runtimePackage: "@oven/bun-linux-x64-baseline",
  },
  {
    platform: "linux-aarch64",
    format: "elf",
    bunTarget: "bun-linux-arm64",
    runtimePackage: "@oven/bun-linux-aarch64",
  },
  {
    platform: "darwin-x86_64",
    format: "mach-o",
    bunTarget: "bun-darwin-x64",
    runtimePackage: "@oven/bun-darwin-x64",
  },
  {
    platform: "darwin-aarch64",
    format: "mach-o",
    bunTarget: "bun-darwin-arm64",
    runtimePackage: "@oven/bun-darwin-aarch64",
  },
];

/** The file's name in a release. */
export function releaseFileName(version: string, target: ReleaseTarget): string {
  return `mur-roost-${version}-${target.platform}`;
}
