/** The platforms whose numbers and structures this folder knows: Linux and macOS, on x64 and arm64. */

export const LINUX = process.platform === "linux";
export const MACOS = process.platform === "darwin";
export const ARM64 = process.arch === "arm64";
