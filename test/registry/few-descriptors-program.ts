/** Opens files with three spare descriptors where no other is left, and prints what came of it as JSON. */

import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { SpareDescriptors } from "../../src/registry/spare-descriptors.ts";

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : error);

function spareOnes(): number {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === "/dev/null";
    } catch {
      // That of the reading itself.
      return false;
    }
  }).length;
}

const before = spareOnes();
const spare = new SpareDescriptors(3);
const held = spareOnes() - before;

/** Takes every descriptor that is left. */
const taken: number[] = [];
let isFull = false;
while (!isFull) {
  try {
    taken.push(openSync("/dev/zero", "r"));
  } catch {
    isFull = true;
  }
}

/** Opens files until that fails, closes them again, and reports how many they were and why it failed. */
function openAll(): { readonly opened: number; readonly refused: unknown } {
  const files: number[] = [];
  try {
    for (;;) files.push(spare.open("/dev/zero"));
  } catch (error) {
    return { opened: files.length, refused: codeOf(error) };
  } finally {
    for (const file of files) spare.close(file);
  }
}

function openMissing(): unknown {
  try {
    return spare.open("/nonexistent");
  } catch (error) {
    return codeOf(error);
  }
}

/** What anybody else gets who opens a file. */
function openElsewhere(): unknown {
  try {
    return openSync("/dev/zero", "r");
  } catch (error) {
    return codeOf(error);
  }
}

const first = openAll();
const missingWithoutRoom = openMissing();
const elsewhere = openElsewhere();
const second = openAll();
for (const descriptor of taken) closeSync(descriptor);
const missing = openMissing();
process.stdout.write(
  JSON.stringify({
    held,
    ...first,
    missing,
    missingWithoutRoom,
    elsewhere,
    openedAfterwards: second.opened,
    heldAgain: spareOnes() - before,
  }),
);
