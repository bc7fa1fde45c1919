/** The command line of `npm run release`. */
import { fault, ok, type Result } from "../../src/result.ts";

interface ReleaseFlags {
  /** Whether every file is built twice and compared. */
  readonly buildTwice: boolean;
  /** A checksum file of another program, whose lines are added to the release's. */
  readonly withChecksums: string | undefined;
}

/** Reads the arguments. The fault names the argument to change. */
export function parseReleaseFlags(args: readonly string[]): Result<ReleaseFlags, string> {
  let buildTwice = true;
  let withChecksums: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const [flag = "", ...rest] = args[at]?.split("=") ?? [];
    const given = rest.length > 0 ? rest.join("=") : undefined;
    if (flag === "--skip-second-build" && given === undefined) {
      buildTwice = false;
    } else if (flag === "--with-checksums") {
      withChecksums = given ?? args[++at];
      if (!withChecksums) return fault("--with-checksums needs a file: --with-checksums FILE");
    } else {
      return fault(`unknown argument: ${args[at]} (--skip-second-build and --with-checksums FILE are known)`);
    }
  }
  return ok({ buildTwice, withChecksums });
}
