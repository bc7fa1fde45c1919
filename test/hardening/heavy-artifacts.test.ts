/** Artifacts that need much work: others are answered before it is done, and the result is remembered. */

import { beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { shared } from "../kit/shared.ts";
import { until } from "../kit/until.ts";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";
import { AROUND, besides } from "./besides.ts";

const host = sharedFamily();
const daemon = shared(() => host().start());
let credential: string;
beforeAll(async () => {
  credential = await daemon().caller.credential("ses_root", "local/parent");
});

const GOOD = manifestOf("child", "");
const MANIFEST_BYTES = 256 * 1024;
const zipOf = (content: string) => zipBytes([{ name: "murmur.yaml", content }]);
/** Fills a manifest up to its largest size with what `line` makes of a number. */
function filled(line: (index: number) => string): string {
  const lines = [GOOD];
  for (let length = GOOD.length, index = 0; ; index++) {
    const next = line(index);
    length += next.length;
    if (length > MANIFEST_BYTES) return lines.join("");
    lines.push(next);
  }
}

const HEAVY: Readonly<
  Record<string, { archive: () => Uint8Array; told: RegExp | undefined; atOnce?: true }>
> = {
  "96 MiB that were never read": {
    archive: () =>
      zipBytes([
        { name: "murmur.yaml", content: GOOD },
        { name: "data", method: STORED, content: Buffer.alloc(96 * 1024 * 1024, randomBytes(4096)) },
      ]),
    told: undefined,
  },
  "a bomb of a gigabyte": {
    archive: () => {
      const block = deflateRawSync(Buffer.alloc(256 * 1024 * 1024));
      return zipBytes([{ name: "murmur.yaml", packed: block, content: GOOD }]);
    },
    told: /larger than 256 KiB/,
    atOnce: true,
  },
  "the largest manifest, of empty lists": {
    archive: () => zipOf(`${GOOD}a: [${"[],".repeat(80_000)}`),
    told: /a bracket that is never closed/,
    atOnce: true,
  },
  "the largest manifest, of mappings": {
    archive: () => zipOf(filled((index) => `k${index}: {a: [b, "c"], d: 'e'}\n`)),
    told: undefined,
    atOnce: true,
  },
  "a directory of fifty thousand entries": {
    archive: () =>
      zipBytes([
        { name: "murmur.yaml", content: GOOD },
        ...Array.from({ length: 50_000 }, (_, index) => ({ name: `f${index}`, method: STORED })),
      ]),
    told: undefined,
  },
};

for (const [what, { archive, told, atOnce }] of Object.entries(HEAVY)) {
  const judged = atOnce ? "is judged" : "others are answered before it is judged";
  test(`${what}: ${judged}, and the verdict stays`, async () => {
    const { caller } = daemon();
    const bytes = archive();
    const judge = () => caller.spawn(credential, "local/child");
    // Starts again if a busy machine let no other client ask in time.
    await until("others are answered", async () => {
      host().publishBytes("local/child", bytes);
      const { result, others } = await besides(caller, judge());
      for (const { status, json } of [result, await judge()]) {
        if (told) expect([status, String(json.error)]).toEqual([500, expect.stringMatching(told)]);
        else expect([status, json.error]).toEqual([200, undefined]);
      }
      await caller.deregister(credential);
      credential = await caller.credential(`ses_${Math.random()}`, "local/parent");
      return atOnce === true || others > AROUND;
    });
  });
}
