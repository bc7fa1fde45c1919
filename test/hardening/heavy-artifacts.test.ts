/** Artifacts that are a lot of work: others are answered before they are, and what was found is remembered. */

import { beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";
import { ask, askSpawn, manifestOf, registerRoot, sharedDaemon } from "./kit.ts";

const { home, daemon } = sharedDaemon();
let credential: string;
beforeAll(async () => {
  credential = await registerRoot(daemon, "ses_root");
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
  "256 MiB that were never read": {
    archive: () =>
      zipBytes([
        { name: "murmur.yaml", content: GOOD },
        { name: "data", method: STORED, content: Buffer.alloc(256 * 1024 * 1024, randomBytes(4096)) },
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
  test(`${what}: others are answered meanwhile, and the verdict stays`, async () => {
    home.publishBytes("local/child", archive());
    let done = false;
    const judged = askSpawn(daemon, credential).finally(() => {
      done = true;
    });
    let meanwhile = 0;
    while (!done) {
      const { status } = await ask(daemon, "/health");
      expect(status).toBe(200);
      if (!done) meanwhile++;
      // A poll, not a load of its own.
      await Bun.sleep(5);
    }
    const first = await judged;
    const again = await askSpawn(daemon, credential);
    for (const { status, body } of [first, again]) {
      if (told) expect([status, String(body.error)]).toEqual([500, expect.stringMatching(told)]);
      else expect([status, body.error]).toEqual([200, undefined]);
    }
    if (!atOnce) expect(meanwhile).toBeGreaterThan(0);
    const outcome = { outcome: "complete" };
    await ask(daemon, "/deregister", outcome, { "x-murmur-spawn-credential": credential });
    credential = await registerRoot(daemon, `ses_${Math.random()}`);
  }, 30_000);
}
