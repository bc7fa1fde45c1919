/** Leaves this process without a free descriptor for a while. */

import { dlopen, FFIType } from "bun:ffi";
import { onTestFinished } from "bun:test";

const MACOS = process.platform === "darwin";
const RLIMIT_NOFILE = MACOS ? 8 : 7;
const libc = dlopen(MACOS ? "libSystem.B.dylib" : "libc.so.6", {
  getrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
}).symbols;

/** From now on nothing can be opened (`EMFILE`), until the returned function is called or the test ends. What is open stays. */
export function noDescriptors(): () => void {
  const limits = new BigUint64Array(2);
  if (libc.getrlimit(RLIMIT_NOFILE, limits) !== 0) throw new Error("the limit cannot be read");
  const limit = (soft: bigint) => {
    if (libc.setrlimit(RLIMIT_NOFILE, new BigUint64Array([soft, limits[1] ?? 0n])) !== 0)
      throw new Error("the limit cannot be set");
  };
  // The first three are always open. `poll` takes no more entries than the limit, so up to three children can be watched.
  limit(3n);
  const give = () => limit(limits[0] ?? 0n);
  onTestFinished(give);
  return give;
}

/** What the library says of it. */
export const TOO_MANY = "Too many open files (os error 24)";
