/** The executable: closes itself to others, then does what its arguments ask for; nothing else. */

import { harden } from "./harden.ts";

// Before anything more is loaded: until this is done, a process of the same user may open this one's memory and keep it
// open. What the program is made of is read afterwards.
const warnings = harden(process.env);
const { runProgram } = await import("./program.ts");
await runProgram(process.argv.slice(2), warnings);
