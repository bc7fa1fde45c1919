/** Ending this process from a thread of it, where `process.exit` would end the thread alone. */

import { LIBRARY } from "./library.ts";

/**
 * The text of a function for a thread that runs from a text: `bindExit()` gives what ends the process with a status, at
 * once. It throws where the C library cannot be called.
 */
export const BIND_EXIT = `
  const bindExit = () =>
    require("bun:ffi").dlopen(${JSON.stringify(LIBRARY)}, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit;
`;
