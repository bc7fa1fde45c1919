/** Ends this process from one of its threads, where `process.exit` would end only the thread. */

import { LIBRARY } from "./library.ts";

/**
 * The text of a function, for a thread that runs from a text. `bindExit()` returns a function that ends the process at
 * once with a status. It throws if the C library cannot be called.
 */
export const BIND_EXIT = `
  const bindExit = () =>
    require("bun:ffi").dlopen(${JSON.stringify(LIBRARY)}, { _exit: { args: ["i32"], returns: "void" } }).symbols._exit;
`;
