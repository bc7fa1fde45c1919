/**
 * A program that rewrites the folder it is given, as fast as it can, until it is killed: files swapped for links out
 * of the folder, for FIFOs, for directories, removed, and growing without end; directories swapped for links.
 */

import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeName } from "../../../src/sys/entries.ts";

const [folder = "", outside = ""] = process.argv.slice(-2);
const names = Array.from({ length: 40 }, (_, index) => `entry-${index}`);
const spare = join(folder, "..", "spare");
mkdirSync(spare);
const fifo = join(spare, "fifo");
Bun.spawnSync(["mkfifo", fifo]);

function put(name: string, make: (path: string) => void): void {
  const made = join(spare, name);
  make(made);
  rmSync(join(folder, name), { recursive: true, force: true });
  renameSync(made, join(folder, name));
}

const forms: readonly ((path: string) => void)[] = [
  (path) => writeFileSync(path, "inside ".repeat(30_000)),
  (path) => symlinkSync(join(outside, "secret"), path),
  (path) => symlinkSync(outside, path),
  (path) => {
    mkdirSync(path);
    for (let i = 0; i < 5; i++) writeFileSync(join(path, `file-${i}`), "inside");
  },
  (path) => {
    Bun.spawnSync(["ln", fifo, path]);
  },
];

process.stdout.write("ready\n");
const growth = encodeName("inside ".repeat(10_000));
for (let round = 0; ; round++) {
  const name = names[round % names.length] ?? "";
  const form = forms[(round * 7 + Math.floor(round / names.length)) % (round % 50 === 0 ? 5 : 4)];
  if (form) put(name, form);
  if (round % 3 === 0)
    rmSync(join(folder, names[(round * 11) % names.length] ?? ""), { recursive: true, force: true });
  appendFileSync(join(folder, "growing"), growth);
}
