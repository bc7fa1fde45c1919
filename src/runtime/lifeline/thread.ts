/**
 * The thread that waits for the end of a spawner, as a text, so that it is there in a compiled program too without being
 * named as one of its entry points. A read pending on the main thread would keep the process alive, and a main thread that
 * computes, or waits for a command, would not hear of its end.
 *
 * Bytes are thrown away: whatever writes them is not the end. Any error but EINTR is. Once the bound is over the process is
 * ended from here, by the C library: `process.exit` would end the thread alone. The bound is 0 until it is set, and counts
 * from the end, or from when it was last changed where that is later.
 */
export const WAIT = `
  const { readSync } = require("node:fs");
  const { dlopen } = require("bun:ffi");
  const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  onmessage = ({ data: { descriptor, bound, library, status } }) => {
    const { _exit } = dlopen(library, { _exit: { args: ["i32"], returns: "void" } }).symbols;
    const ignored = Buffer.alloc(4096);
    for (;;) {
      try {
        if (readSync(descriptor, ignored) === 0) break;
      } catch (error) {
        if (error.code === "EAGAIN") pause(50);
        else if (error.code !== "EINTR") break;
      }
    }
    postMessage("ended");
    for (let since = performance.now(); ; since = performance.now()) {
      const ms = Atomics.load(bound, 0);
      const left = ms === 0 ? Infinity : since + ms - performance.now();
      if (Atomics.wait(bound, 0, ms, left) === "timed-out") _exit(status);
    }
  };
`;

/** The status of a program that SIGTERM ended, as a shell counts it. */
export const TERMINATED_STATUS = 143;
