/** Broken and lying artifacts, each with its verdict: what `/spawn` of it answers, once and again. */

import { beforeAll, expect, test } from "bun:test";
import { deflateRawSync } from "node:zlib";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import type { Answer } from "../kit/host.ts";
import { shared } from "../kit/shared.ts";
import { STORED, type ZipEnd, type ZipEntry, zipBytes } from "../kit/zip-bytes.ts";

const host = sharedFamily();
const daemon = shared(() => host().start());
const caller = () => daemon().caller;
let credential: string;
beforeAll(async () => {
  credential = await caller().credential("ses_root", "local/parent");
});

const GOOD = manifestOf("child", "");
const NAME = "murmur.yaml";
const entry = (more: Partial<ZipEntry> = {}): ZipEntry => ({ name: NAME, content: GOOD, ...more });
const zip = (more: Partial<ZipEntry>, end?: ZipEnd) => zipBytes([entry(more)], end);
const sound = zip({});
const otherManifest = manifestOf("child", "  shell: {allow: [sh]}\n");
const descriptor = (signature: boolean) => {
  const bytes = zip({});
  return Buffer.concat([
    Buffer.from(signature ? [0x50, 0x4b, 7, 8] : []),
    bytes.subarray(14, 26), // CRC and both sizes of the local header
  ]);
};
const ZEROS = { crc: 0, compressedSize: 0, uncompressedSize: 0 };
const patch = (bytes: Buffer, at: number, ...values: number[]) => {
  const copy = Buffer.from(bytes);
  copy.set(values, at < 0 ? copy.length + at : at);
  return copy;
};
const unicodePath = (path: string) =>
  Buffer.concat([Buffer.from([0x75, 0x70, 5 + path.length, 0, 1, 0, 0, 0, 0]), Buffer.from(path)]);
const bomb = deflateRawSync(Buffer.alloc(64 * 1024 * 1024));

const GRANTED = "granted";
const NO_ZIP = /it is not a whole ZIP archive/;
const LIES = /end record does not describe its directory/;
const SIZE = /does not match its size and checksum|does not unpack/;
const DIFFERS = /local header of its murmur\.yaml differs/;
const MISSING = /holds no murmur\.yaml/;
const TWO = /two entries that unpack to murmur\.yaml/;
const LARGE = /larger than 256 KiB/;

const ARCHIVES: Readonly<Record<string, readonly [Uint8Array, RegExp | typeof GRANTED]>> = {
  "a deflated entry": [sound, GRANTED],
  "a stored entry": [zip({ method: STORED }), GRANTED],
  "other entries next to it": [
    zipBytes([{ name: "a", content: "x" }, entry(), { name: "z/murmur.yaml", content: "y" }]),
    GRANTED,
  ],
  "a data descriptor": [zip({ flags: 8, local: ZEROS, descriptor: descriptor(true) }), GRANTED],
  "a data descriptor without its signature": [
    zip({ flags: 8, local: ZEROS, descriptor: descriptor(false) }),
    GRANTED,
  ],
  "an archive comment": [zip({}, { comment: "hello" }), GRANTED],
  "no bytes": [Buffer.alloc(0), NO_ZIP],
  "one byte": [Buffer.from("P"), NO_ZIP],
  text: [Buffer.from(GOOD), NO_ZIP],
  "a gzip file": [Bun.gzipSync(Buffer.from(GOOD)), NO_ZIP],
  "its first half": [sound.subarray(0, sound.length / 2), NO_ZIP],
  "all but its last byte": [sound.subarray(0, -1), NO_ZIP],
  "all but its first byte": [sound.subarray(1), /./],
  "an end record alone": [sound.subarray(-22), LIES],
  "an empty directory": [zipBytes([]), MISSING],
  "no manifest": [zipBytes([{ name: "other", content: "x" }]), MISSING],
  "a manifest in a folder only": [zipBytes([{ name: "x/murmur.yaml", content: GOOD }]), MISSING],
  "a manifest with a dot before": [zipBytes([{ name: "./murmur.yaml", content: GOOD }]), MISSING],
  "a manifest in capitals only": [zipBytes([{ name: "MURMUR.YAML", content: GOOD }]), MISSING],
  "a manifest in both cases": [zipBytes([entry(), { name: "Murmur.yaml", content: otherManifest }]), TWO],
  "a NUL in its name": [zipBytes([{ name: "murmur.yaml\0x", content: GOOD }]), /./],
  "two manifests": [zipBytes([entry(), entry()]), TWO],
  "two different manifests": [zipBytes([entry(), entry({ content: otherManifest })]), TWO],
  "two directory entries of one manifest": [zipBytes([entry(), { ...entry(), offset: 0 }]), TWO],
  "an entry by two names": [zipBytes([{ name: "x", content: GOOD, extra: unicodePath(NAME) }]), /two names/],
  "a manifest by two names": [zip({ extra: unicodePath("other") }), /two names/],
  "an encrypted manifest": [zip({ flags: 1 }), /encrypted/],
  "an entry encrypted in one header": [zip({ local: { flags: 1 } }), DIFFERS],
  "strong encryption": [zip({ flags: 0x41 }), /encrypted/],
  bzip2: [zip({ method: 12, packed: Buffer.from(GOOD) }), /compression method 12/],
  deflate64: [zip({ method: 9, packed: Buffer.from(GOOD) }), /compression method 9/],
  "an unknown method": [zip({ method: 99, packed: Buffer.from(GOOD) }), /compression method 99/],
  "methods that differ": [zip({ local: { method: STORED } }), DIFFERS],
  "local name that differs": [zip({ local: { name: "murmur.yamX" } }), DIFFERS],
  "local checksum that differs": [zip({ local: { crc: 1 } }), DIFFERS],
  "local sizes that differ": [zip({ local: { compressedSize: 1 } }), DIFFERS],
  "local unpacked size that differs": [zip({ local: { uncompressedSize: 1 } }), DIFFERS],
  "a wrong checksum": [zip({ crc: 1 }), SIZE],
  "an unpacked size that is too small": [zip({ uncompressedSize: GOOD.length - 1 }), SIZE],
  "an unpacked size that is too large": [zip({ uncompressedSize: GOOD.length + 1 }), SIZE],
  "a stored size that differs": [
    zip({ method: STORED, uncompressedSize: GOOD.length + 1 }),
    /has two different sizes/,
  ],
  "a packed size over the end": [zip({ compressedSize: 100_000 }), /overlaps/],
  "a packed size of 0": [zip({ compressedSize: 0 }), SIZE],
  "packed bytes that cannot be unpacked": [zip({ packed: Buffer.from("no deflate stream") }), SIZE],
  "an offset into nowhere": [zip({ offset: 0xfffffff0 }), /./],
  "an offset into itself": [zip({ offset: 5 }), /./],
  "entries that overlap": [zipBytes([entry(), { name: "x", content: "y", offset: 3 }]), /overlaps/],
  "too many entries announced": [zip({}, { entries: 2 }), LIES],
  "too few entries announced": [zipBytes([entry(), { name: "x" }], { entries: 1 }), LIES],
  "a directory that starts too early": [zip({}, { offset: 0 }), LIES],
  "a directory that starts after the end": [zip({}, { offset: 0x7fffffff }), LIES],
  "a directory that is too long": [zip({}, { size: 0x7fffffff }), LIES],
  "a directory that is too short": [zip({}, { size: 10 }), LIES],
  "a gap after the directory": [zip({}, { gap: Buffer.alloc(10) }), LIES],
  "bytes before the archive": [zip({}, { prefix: Buffer.from("#!/bin/sh\n") }), GRANTED],
  "a comment that is longer than said": [Buffer.concat([sound, Buffer.from("trailing")]), NO_ZIP],
  "a second archive after it": [Buffer.concat([sound, zip({ content: otherManifest })]), /./],
  "zip64 placeholders without a zip64 record": [
    zip({}, { offset: 0xffffffff, size: 0xffffffff, entries: 0xffff }),
    LIES,
  ],
  "a zip64 locator into nowhere": [
    zip(
      {},
      {
        offset: 0xffffffff,
        gap: Buffer.from([0x50, 0x4b, 6, 7, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 1, 0, 0, 0]),
      },
    ),
    LIES,
  ],
  "several disks": [patch(sound, -18, 1, 0), /./],
  "a bomb with an honest header": [zip({ packed: bomb, uncompressedSize: 64 * 1024 * 1024 }), LARGE],
  "a bomb with a lying header": [zip({ packed: bomb, uncompressedSize: GOOD.length }), LARGE],
  "a manifest of 256 KiB": [zip({ content: GOOD.padEnd(256 * 1024, "#") }), GRANTED],
  "a manifest of one byte more": [zip({ content: GOOD.padEnd(256 * 1024 + 1, "#") }), LARGE],
};

const M = (text: string | Uint8Array) => zipBytes([{ name: NAME, content: text }]);
const TOP = `name: child\nversion: ${"0.1.0"}\n`;
const nested = (levels: number) => `${TOP}x: ${"[".repeat(levels)}${"]".repeat(levels)}\n`;
const PARSE = /^manifest parse error: /;
const EXCEEDS = /^capabilities\.shell\.allow: the child declares /;

const MANIFESTS: Readonly<Record<string, readonly [string | Uint8Array, RegExp | typeof GRANTED]>> = {
  "empty text": ["", PARSE],
  "a comment": ["# nothing", PARSE],
  "a list": ["- a", PARSE],
  "a scalar": ["murmur", PARSE],
  "no YAML": ["a: b: c: [", PARSE],
  "a document end": [`${TOP}...\n`, PARSE],
  "a second document": [`${TOP}---\n${TOP}`, PARSE],
  "a trailing document marker": [`${TOP}---\n`, PARSE],
  "a key twice": [`${TOP}name: other\n`, PARSE],
  "a capability twice": [`${TOP}capabilities: {shell: {allow: []}, shell: {allow: [sh]}}\n`, PARSE],
  "a key twice, once quoted": [`${TOP}"name": other\n`, PARSE],
  "a list as a key": [`${TOP}? [a]\n: b\n`, PARSE],
  "a mapping as a key": [`${TOP}? {a: b}\n: c\n`, PARSE],
  "a tag": [`${TOP}x: !!str y\n`, PARSE],
  "a local tag": [`${TOP}x: !y z\n`, PARSE],
  "a directive": [`%YAML 1.1\n---\n${TOP}`, PARSE],
  "a merge key": [`${TOP}capabilities:\n  <<: {shell: {allow: [sh]}}\n`, PARSE],
  "an anchor": [`${TOP}base: &b [sh]\n`, PARSE],
  "an alias": [`${TOP}x: *nowhere\n`, PARSE],
  "a question mark before a key": [`${TOP}capabilities: {?shell: {allow: [sh]}}\n`, PARSE],
  "a quoted text over several lines": [`${TOP}x: 'a''\ncapabilities: {}\ny: b'\n`, PARSE],
  "an entry of 4 KiB": [`${TOP}capabilities: {shell: {allow: [${"x".repeat(4096)}]}}\n`, EXCEEDS],
  "an entry of more than 4 KiB": [`${TOP}capabilities: {shell: {allow: [${"x".repeat(4097)}]}}\n`, PARSE],
  "127 levels": [nested(126), GRANTED],
  "128 levels": [nested(127), PARSE],
  "10,000 levels": [nested(10_000), PARSE],
  "a NUL": [`${TOP}x: "a\0b"\n`, PARSE],
  "an escape": [`${TOP}x: \u001b[31m\n`, PARSE],
  "a byte order mark": [`\ufeff${TOP}`, PARSE],
  "a byte order mark inside": [`${TOP}\ufeffx: y\n`, PARSE],
  "CRLF line ends": [TOP.replaceAll("\n", "\r\n"), GRANTED],
  "a lone carriage return": [`${TOP}# note\rcapabilities: {shell: {allow: [sh]}}\n`, PARSE],
  "a next-line character": [`${TOP}# note\u0085x: y\n`, PARSE],
  "a line separator": [`${TOP}# note\u2028x: y\n`, PARSE],
  "no UTF-8": [Buffer.from(`${TOP}x: \xff\n`, "latin1"), PARSE],
  "UTF-16": [Buffer.from(TOP, "utf16le"), PARSE],
  "no name": ["version: 0.1.0\n", PARSE],
  "a blank name": ['name: " "\nversion: 0.1.0\n', PARSE],
  "a list of versions": ["name: child\nversion: [1]\n", PARSE],
  "capabilities that are text": [`${TOP}capabilities: all\n`, PARSE],
  "an allow list that is text": [`${TOP}capabilities: {shell: {allow: sh}}\n`, PARSE],
  "an allow list that is null": [`${TOP}capabilities: {shell: {allow: null}}\n`, PARSE],
  "an allow list with a mapping": [`${TOP}capabilities: {env: {allow: [{a: b}]}}\n`, PARSE],
  "a boolean that is text": [`${TOP}capabilities: {network: {unix_sockets: "true"}}\n`, PARSE],
  "a boolean of another age": [`${TOP}capabilities: {network: {unix_sockets: yes}}\n`, PARSE],
  "an unknown containment": [`${TOP}capabilities: {containment: none}\n`, PARSE],
  "artifacts that are no list": [`${TOP}artifacts: {a: b}\n`, PARSE],
  "a variable": [`${TOP}gateway: {api_key: "\${SECRET_KEY}"}\n`, GRANTED],
};

async function verdict(archive: Uint8Array): Promise<string> {
  host().publishBytes("local/child", archive);
  const once = await caller().spawn(credential, "local/child");
  const again = await caller().spawn(credential, "local/child");
  const told = ({ status, json }: Answer) => (status === 200 ? GRANTED : String(json.error));
  expect(told(again)).toBe(told(once));
  expect([200, 403, 500]).toContain(once.status);
  await startOver();
  return told(once);
}

/** Another root for the next one, so that no bound is reached. */
let roots = 0;
async function startOver(): Promise<void> {
  await caller().deregister(credential);
  credential = await caller().credential(`ses_root_${roots++}`, "local/parent");
}

const verdictOn = (wanted: RegExp | typeof GRANTED) => (wanted === GRANTED ? "is granted" : "is refused");

for (const [name, [archive, wanted]] of Object.entries(ARCHIVES)) {
  test(`an archive ${verdictOn(wanted)}: ${name}`, async () => {
    const told = await verdict(archive);
    if (wanted === GRANTED) {
      expect(told).toBe(GRANTED);
    } else {
      expect(told).toMatch(wanted);
      expect(told).not.toBe(GRANTED);
    }
    expect(told).not.toContain(GOOD.slice(0, 20));
  });
}

for (const [name, [manifest, wanted]] of Object.entries(MANIFESTS)) {
  test(`a manifest ${verdictOn(wanted)}: ${name}`, async () => {
    const told = await verdict(M(manifest));
    if (wanted === GRANTED) expect(told).toBe(GRANTED);
    else expect(told).toMatch(wanted);
    expect(told).not.toContain("SECRET_KEY");
  });
}

test("after all of them the daemon still grants a sound artifact", async () => {
  expect(await verdict(sound)).toBe(GRANTED);
  expect(daemon().stderr()).not.toContain("internal-error");
  expect(daemon().stderr()).not.toContain("SECRET_KEY");
});
