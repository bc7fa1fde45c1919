/** What the runtime consists of, by the names that it reports versions under. */

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

/** Libraries for which the runtime reports no version. */
const UNREPORTED: readonly Known[] = [
  { name: "brotli", licence: "MIT", sources: "https://github.com/google/brotli" },
  { name: "Highway", licence: "Apache-2.0", sources: "https://github.com/google/highway" },
  { name: "libbase64", licence: "BSD-2-Clause", sources: "https://github.com/aklomp/base64" },
  {
    name: "libjpeg-turbo",
    licence: "BSD-3-Clause",
    sources: "https://github.com/libjpeg-turbo/libjpeg-turbo",
  },
  { name: "libspng", licence: "BSD-2-Clause", sources: "https://github.com/randy408/libspng" },
  { name: "libwebp", licence: "BSD-3-Clause", sources: "https://chromium.googlesource.com/webm/libwebp" },
  { name: "lsquic", licence: "MIT", sources: "https://github.com/litespeedtech/lsquic" },
  { name: "ls-qpack", licence: "MIT", sources: "https://github.com/litespeedtech/ls-qpack" },
  { name: "simdutf", licence: "Apache-2.0", sources: "https://github.com/simdutf/simdutf" },
  { name: "uucode", licence: "MIT", sources: "https://github.com/jacobsandlund/uucode" },
];

/** Versions that the runtime reports only for compatibility with Node. It does not contain these parts. */
const CLAIMS = new Set(["node", "v8", "uv", "openssl", "modules", "napi", "unicode"]);

export const RUNTIME_LICENCE = "MIT";
export const RUNTIME_SOURCES = "https://github.com/oven-sh/bun";

/**
 * The parts of the runtime that runs this script, which is the version that a release is built on.
 *
 * @throws {Error} if it reports a part that is not in the table: look it up and add it
 */
export function runtimeParts(versions: NodeJS.ProcessVersions = process.versions): RuntimePart[] {
  const reported = Object.entries(versions)
    .filter(([key, version]) => key !== "bun" && !CLAIMS.has(key) && version !== undefined)
    .map(([key, version = ""]) => {
      const known = PARTS[key];
      if (known) return { ...known, version };
      throw new Error(`the runtime holds ${key}, which scripts/release/runtime-parts.ts does not know`);
    });
  const others = UNREPORTED.map((known) => ({ ...known, version: `as in Bun ${versions.bun}` }));
  return [...reported, ...others].sort((one, other) => (one.name < other.name ? -1 : 1));
}
