/**
 * Attaches to a process as a debugger does, and then does nothing. The process stops at its next signal. Once it is killed,
 * its parent cannot reap it until this program ends, which it does when its input ends. Linux only.
 */

import { dlopen } from "bun:ffi";

const PTRACE_SEIZE = 0x4206n;
const { symbols } = dlopen("libc.so.6", {
  ptrace: { args: ["i64", "i32", "u64", "u64"], returns: "i64" },
});
const held = symbols.ptrace(PTRACE_SEIZE, Number(process.argv[2]), 0n, 0n) === 0n;
process.stdout.write(held ? "held\n" : "refused\n");
if (held) await Bun.stdin.text();
