import { describe, expect, test } from "bun:test";
import { boundReached, DEFAULT_LIMITS, defaultCeiling } from "../../src/referee/bounds.ts";
import { scopeCovers } from "../../src/referee/filesystem-scope.ts";
import { InstallPatterns } from "../../src/referee/install-pattern.ts";
import { parseNetworkRule } from "../../src/referee/network-rule.ts";

describe("network entries", () => {
  const rule = (host: string, port?: number, scheme?: "http" | "https") => ({ scheme, host, port });

  test.each([
    ["example.com", rule("example.com")],
    ["example.com:80", rule("example.com", 80)],
    ["example.com:0", rule("example.com", 0)],
    ["example.com:65535", rule("example.com", 65535)],
    ["example.com:0080", rule("example.com", 80)],
    ["http://example.com", rule("example.com", 80, "http")],
    ["HTTPS://Example.COM:443/", rule("example.com", 443, "https")],
    ["127.1", rule("127.0.0.1")],
    ["0x7f.1:8080", rule("127.0.0.1", 8080)],
    ["[0:0::1]", rule("[::1]")],
    ["bücher.example", rule("xn--bcher-kva.example")],
    ["a_b.example", rule("a_b.example")],
  ])("%s is a valid entry", (entry, expected) => {
    expect(parseNetworkRule(entry)).toEqual(expected);
  });

  test.each([
    "",
    "*",
    "*.example.com",
    "example.com:",
    "example.com:65536",
    "example.com:99999",
    "example.com/v1",
    "example.com?x",
    "example.com#x",
    "https://",
    "https:///example.com",
    "https:example.com",
    "user@example.com",
    "https://user:pass@example.com",
    "https://example.com\\v1",
    "exam ple.com",
    "exam\tple.com",
    "ftp://example.com",
    "ws://example.com",
    "[::1",
    "[::g]",
    "[]",
    "[:\n:1]",
    "[x@example.com/]",
    "[x@example.com/]:80",
    "[x@example.com?]",
    "[x@example.com#]",
    "[x@example.com\\]",
    "https://[x@example.com/]",
    "[x@10.0.0.1/a/b?]",
    "[x@[::1]]",
    "999.1.1.1",
    "\ufeffexample.com",
    " https://example.com \ufeff",
    "a/b",
  ])("%p is unreadable", (entry) => {
    expect(parseNetworkRule(entry)).toBeUndefined();
  });
});

describe("filesystem scopes", () => {
  test("a scope that leaves the workdir, even to return, covers nothing and is not covered by anything", () => {
    expect(scopeCovers("../x", "../x")).toBe(false);
    expect(scopeCovers(".", "a/../../w/a")).toBe(false);
    expect(scopeCovers(undefined, "../x")).toBe(true);
  });
});

describe("install patterns", () => {
  test("a check costs no more with many prefixes, and every prefix counts", () => {
    const patterns = new InstallPatterns();
    for (let length = 0; length < 500; length++) patterns.add(`${"x".repeat(length)}y*`);
    expect(patterns.covers(`${"x".repeat(499)}yz`)).toBe(true);
    expect(patterns.covers(`${"x".repeat(500)}yz`)).toBe(false);
  });

  test("a prefix covers itself and everything that begins with it, and a name covers only itself", () => {
    const patterns = new InstallPatterns();
    patterns.add("st*");
    patterns.add("name");
    for (const covered of ["st", "st*", "str", "str*", "name"]) expect(patterns.covers(covered)).toBe(true);
    for (const other of ["s", "s*", "*", "ts", "name*", "names", "nam"]) {
      expect(patterns.covers(other)).toBe(false);
    }
  });

  test("a malformed entry covers nothing", () => {
    const patterns = new InstallPatterns();
    for (const malformed of ["", "st**", "St*", "a b", "a*b"]) patterns.add(malformed);
    for (const name of ["", "*", "st", "st*", "st**", "St", "a b", "a*b"]) {
      expect(patterns.covers(name)).toBe(false);
    }
  });

  test("an empty entry is malformed", () => {
    const patterns = new InstallPatterns();
    patterns.add("*");
    expect(patterns.covers("")).toBe(false);
  });
});

describe("bounds", () => {
  const limits = { maxDepth: 3, maxLiveCapsules: 8, maxConcurrent: 2 };
  const standing = { depthRemaining: 1, liveCapsules: 0, liveChildren: 0 };

  test("are checked in order: depth, machine ceiling, concurrency", () => {
    expect(boundReached(limits, { depthRemaining: 0, liveCapsules: 8, liveChildren: 2 })).toBe("depth");
    expect(boundReached(limits, { depthRemaining: 1, liveCapsules: 8, liveChildren: 2 })).toBe(
      "machine-ceiling",
    );
    expect(boundReached(limits, { depthRemaining: 1, liveCapsules: 7, liveChildren: 2 })).toBe("concurrency");
    expect(boundReached(limits, standing)).toBeUndefined();
  });

  test("refuse every delegation if they are 0", () => {
    expect(boundReached({ ...limits, maxLiveCapsules: 0 }, standing)).toBe("machine-ceiling");
    expect(boundReached({ ...limits, maxConcurrent: 0 }, standing)).toBe("concurrency");
  });

  test("are three levels, four children and eight capsules per core (16 to 256) by default", () => {
    expect(DEFAULT_LIMITS).toEqual({ maxDepth: 3, maxConcurrent: 4 });
    const cores = [1, 2, 3, 4, 31, 32, 33, 1000];
    expect(cores.map(defaultCeiling)).toEqual([16, 16, 24, 32, 248, 256, 256, 256]);
  });
});
