import { setDefaultTimeout } from "bun:test";
import { shared } from "../../kit/shared.ts";
import { openHost } from "./host.ts";

/** The host of all tests of one file, to be used within them. */
export function sharedHost() {
  // Processes start slowly on a machine that is busy with other things.
  setDefaultTimeout(60_000);
  return shared(
    async () => ({ host: await openHost() }),
    ({ host }) => host.stop(),
  );
}
