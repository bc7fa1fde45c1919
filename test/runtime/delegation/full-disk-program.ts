/** Appends to a trace while the size of its files is limited, and afterwards; prints what was said of it. */

import { dlopen, FFIType } from "bun:ffi";
import { createTrace, systemClock } from "../../../src/runtime/index.ts";
import { hold } from "../../kit/folders.ts";

const [, , folder = ""] = process.argv;
const libc = dlopen(process.platform === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
  setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
}).symbols;
const RLIMIT_FSIZE = 1;
const UNLIMITED = 2n ** 63n - 1n;

/** The soft limit, in bytes. */
function limitFiles(bytes: bigint): void {
  if (libc.setrlimit(RLIMIT_FSIZE, new BigUint64Array([bytes, UNLIMITED])) !== 0) throw new Error("no limit");
}

const said: string[] = [];
const trace = createTrace({
  id: "ses_1",
  directories: { records: hold(folder) },
  clock: systemClock,
  diagnose: (line) => void said.push(line),
});
const append = (task_id: string) => trace({ event: "task_continued", task_id, delegations: [] });

append("first");
for (const next of ["after", "last"]) {
  limitFiles(BigInt(Bun.file(`${folder}/trace.jsonl`).size + 20));
  append("torn");
  append("lost");
  append("lost");
  limitFiles(UNLIMITED);
  append(next);
}
process.stdout.write(JSON.stringify(said));
