import { shared } from "../../kit/shared.ts";
import { type Host, openHost } from "./host.ts";

/** The host of all tests of the file that calls this; `flags` are its daemon's. */
export function sharedHost(flags?: readonly string[]): () => Host {
  return shared(async (undo) => undo.adopt(await openHost(flags), (host) => host.stop()));
}
