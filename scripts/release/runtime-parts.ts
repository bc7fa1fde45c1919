/** What the runtime consists of, by the names under which it reports versions. */

/** A library that is linked into the runtime. */
export interface RuntimePart {
  readonly name: string;
  /** A release, or the commit of its sources. */
  readonly version: string;
  /** SPDX. */
  readonly licence: string;
  readonly sources: string;
}

type Known = Omit<RuntimePart, "version">;

const PARTS: Readonly<Record<string, Known>> = {
  ares: { name: "c-ares", licence: "MIT", sources: "https://github.com/c-ares/c-ares" },
  boringssl: {
    name: "BoringSSL",
    licence: "Apache-2.0",
    sources: "https://boringssl.googlesource.com/boringssl",
  },
  icu: { name: "ICU", licence: "Unicode-3.0", sources: "https://github.com/unicode-org/icu" },
  libarchive: {
    name: "libarchive",
    licence: "BSD-2-Clause",
    sources: "https://github.com/libarchive/libarchive",
  },
  libdeflate: { name: "libdeflate", licence: "MIT", sources: "https://github.com/ebiggers/libdeflate" },
  llhttp: { name: "llhttp", licence: "MIT", sources: "https://github.com/nodejs/llhttp" },
  lolhtml: { name: "lol-html", licence: "BSD-3-Clause", sources: "https://github.com/cloudflare/lol-html" },
  lshpack: { name: "ls-hpack", licence: "MIT", sources: "https://github.com/litespeedtech/ls-hpack" },
  mimalloc: { name: "mimalloc", licence: "MIT", sources: "https://github.com/microsoft/mimalloc" },
  picohttpparser: {
    name: "picohttpparser",
    licence: "MIT",
    sources: "https://github.com/h2o/picohttpparser",
  },
  sqlite: { name: "SQLite", licence: "blessing", sources: "https://sqlite.org/src" },
  tinycc: { name: "TinyCC", licence: "LGPL-2.1-or-later", sources: "https://github.com/TinyCC/tinycc" },
  typescript: {
    name: "TypeScript",
    licence: "Apache-2.0",
    sources: "https://github.com/microsoft/TypeScript",
  },
  usockets: { name: "uSockets", licence: "Apache-2.0", sources: "https://github.com/uNetworking/uSockets" },
  uwebsockets: {
    name: "uWebSockets",
    licence: "Apache-2.0",
    sources: "https://github.com/uNetworking/uWebSockets",
  },
  webkit: {
    name: "JavaScriptCore (WebKit)",
    licence: "LGPL-2.0-or-later",
    sources: "https://github.com/oven-sh/WebKit",
  },
  zig: { name: "Zig's standard library", licence: "MIT", sources: "https://github.com/oven-sh/zig" },
  zlib: { name: "zlib", licence: "Zlib", sources: "https://github.com/cloudflare/zlib" },
  zstd: { name: "Zstandard", licence: "BSD-3-Clause", sources: "https://github.com/facebook/zstd" },
};

/** Versions that the runtime reports because programs for Node ask for them; nothing of that name is in it. */
const CLAIMS = new Set(["node", "v8", "uv", "openssl", "modules", "napi", "unicode"]);

export const RUNTIME_LICENCE = "MIT";
export const RUNTIME_SOURCES = "https://github.com/oven-sh/bun";

/**
 * The parts of the runtime that runs this script, which is the version that a release is built on.
 *
 * @throws {Error} where it reports a part that is not in the table: look it up and add it
 */
export function runtimeParts(versions: NodeJS.ProcessVersions = process.versions): RuntimePart[] {
  return Object.entries(versions)
    .filter(([key, version]) => key !== "bun" && !CLAIMS.has(key) && version !== undefined)
    .map(([key, version = ""]) => {
      const known = PARTS[key];
      if (known) return { ...known, version };
      throw new Error(`the runtime holds ${key}, which scripts/release/runtime-parts.ts does not know`);
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
