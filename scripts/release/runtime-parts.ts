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

function known(name: string, licence: string, sources: string): Known {
  return { name, licence, sources };
}

const PARTS: Readonly<Record<string, Known>> = {
  ares: known("c-ares", "MIT", "https://github.com/c-ares/c-ares"),
  boringssl: known("BoringSSL", "Apache-2.0", "https://boringssl.googlesource.com/boringssl"),
  icu: known("ICU", "Unicode-3.0", "https://github.com/unicode-org/icu"),
  libarchive: known("libarchive", "BSD-2-Clause", "https://github.com/libarchive/libarchive"),
  libdeflate: known("libdeflate", "MIT", "https://github.com/ebiggers/libdeflate"),
  llhttp: known("llhttp", "MIT", "https://github.com/nodejs/llhttp"),
  lolhtml: known("lol-html", "BSD-3-Clause", "https://github.com/cloudflare/lol-html"),
  lshpack: known("ls-hpack", "MIT", "https://github.com/litespeedtech/ls-hpack"),
  mimalloc: known("mimalloc", "MIT", "https://github.com/microsoft/mimalloc"),
  picohttpparser: known("picohttpparser", "MIT", "https://github.com/h2o/picohttpparser"),
  sqlite: known("SQLite", "blessing", "https://sqlite.org/src"),
  tinycc: known("TinyCC", "LGPL-2.1-or-later", "https://github.com/TinyCC/tinycc"),
  typescript: known("TypeScript", "Apache-2.0", "https://github.com/microsoft/TypeScript"),
  usockets: known("uSockets", "Apache-2.0", "https://github.com/uNetworking/uSockets"),
  uwebsockets: known("uWebSockets", "Apache-2.0", "https://github.com/uNetworking/uWebSockets"),
  webkit: known("JavaScriptCore (WebKit)", "LGPL-2.0-or-later", "https://github.com/oven-sh/WebKit"),
  zig: known("Zig's standard library", "MIT", "https://github.com/oven-sh/zig"),
  zlib: known("zlib", "Zlib", "https://github.com/cloudflare/zlib"),
  zstd: known("Zstandard", "BSD-3-Clause", "https://github.com/facebook/zstd"),
};

/** Libraries for which the runtime reports no version. */
const UNREPORTED: readonly Known[] = [
  known("brotli", "MIT", "https://github.com/google/brotli"),
  known("Highway", "Apache-2.0", "https://github.com/google/highway"),
  known("libbase64", "BSD-2-Clause", "https://github.com/aklomp/base64"),
  known("libjpeg-turbo", "BSD-3-Clause", "https://github.com/libjpeg-turbo/libjpeg-turbo"),
  known("libspng", "BSD-2-Clause", "https://github.com/randy408/libspng"),
  known("libwebp", "BSD-3-Clause", "https://chromium.googlesource.com/webm/libwebp"),
  known("lsquic", "MIT", "https://github.com/litespeedtech/lsquic"),
  known("ls-qpack", "MIT", "https://github.com/litespeedtech/ls-qpack"),
  known("simdutf", "Apache-2.0", "https://github.com/simdutf/simdutf"),
  known("uucode", "MIT", "https://github.com/jacobsandlund/uucode"),
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
      const part = PARTS[key];
      if (part) return { ...part, version };
      throw new Error(`the runtime holds ${key}, which scripts/release/runtime-parts.ts does not know`);
    });
  const others = UNREPORTED.map((part) => ({ ...part, version: `as in Bun ${versions.bun}` }));
  return [...reported, ...others].sort((one, other) => (one.name < other.name ? -1 : 1));
}
