import { setDefaultTimeout } from "bun:test";
import { shared } from "../../kit/shared.ts";
import { type Host, openHost } from "./host.ts";

/** The host of all tests of one file. */
export function sharedHost(): () => Host {
  // Processes start slowly on a machine that is busy with other things.
  setDefaultTimeout(60_000);
  return shared(async (undo) => undo.adopt(await openHost(), (host) => host.stop()));
}
