/** Copies its first argument into its second and prints the outcome: run as another user, or compiled. */

import { snapshotWorkdir } from "../../../src/runtime/snapshot/snapshot.ts";
import { hold } from "../../kit/folders.ts";

const [source = "", destination = ""] = process.argv.slice(-2);
const outcome = await snapshotWorkdir({
  source: hold(source),
  destination: hold(destination),
  ceilingBytes: 2 ** 30,
  runtimeOwned: [],
});
process.stdout.write(JSON.stringify(outcome));
