/** A process that may not execute memory that it has written, so the engine compiles nothing and calls no C. */

const PR_SET_MDWE = 65;

const SCRIPT = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(${PR_SET_MDWE}, 1, 0, 0, 0) != 0:
    sys.exit("this kernel does not know PR_SET_MDWE")
os.execv(sys.argv[1], sys.argv[1:])
`;

/** Put before a command. */
export function withoutFfi(): readonly string[] {
  return ["/usr/bin/python3", "-c", SCRIPT];
}

/** Whether this host can forbid it: Linux 6.3 or later, and a Python. */
export const canForbidFfi =
  process.platform === "linux" &&
  Bun.spawnSync([...withoutFfi(), "/bin/true"], { stderr: "ignore", stdout: "ignore" }).exitCode === 0;
