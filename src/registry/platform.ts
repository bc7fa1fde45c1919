/** The platform part of an artifact's file name for this host: `linux-x86_64`, `darwin-aarch64`, … */

/** The platforms that artifacts are published for. */
export const PLATFORMS = ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"] as const;

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: "x86_64", arm64: "aarch64" };

export function platformName(platform: NodeJS.Platform = process.platform, arch = process.arch): string {
  return `${platform}-${ARCHITECTURES[arch] ?? arch}`;
}
