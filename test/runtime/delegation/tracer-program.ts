/**
 * Takes hold of a process as a debugger does, and then looks away: at its next signal the process stops, and when it is
 * killed its parent cannot reap it before this program has ended, as it does with its input. Linux only.
 */

import { dlopen } from "bun:ffi";

const PTRACE_SEIZE = 0x4206n;
const { symbols } = dlopen("libc.so.6", {
  ptrace: { args: ["i64", "i32", "u64", "u64"], returns: "i64" },
});
const held = symbols.ptrace(PTRACE_SEIZE, Number(process.argv[2]), 0n, 0n) === 0n;
process.stdout.write(held ? "held\n" : "refused\n");
if (held) await Bun.stdin.text();
