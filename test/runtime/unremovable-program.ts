/** Removes a session's runtime directory without a free descriptor, and prints why that failed. */

import { createSessionDirectories } from "../../src/runtime/directories.ts";
import { takeDescriptors } from "../kit/no-descriptors.ts";

const [, , home = "", workdir = "", sessionId = ""] = process.argv;
const made = createSessionDirectories({ home, workdir, sessionId });
if (!made.ok) throw new Error(made.fault);
const give = takeDescriptors();
const removed = await made.value.removeRuntime();
give();
made.value.close();
process.stdout.write(removed.ok ? "removed" : removed.fault);
