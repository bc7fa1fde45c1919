/** The executable: closes its process to others, then runs the program. */

import { harden } from "./harden.ts";

// Before anything else is loaded: until then, another process of the same user may open this one's memory and keep it
// open. That is why the program itself is imported dynamically.
const warnings = harden(process.env);
const { runProgram } = await import("./program.ts");
await runProgram(process.argv.slice(2), warnings);
