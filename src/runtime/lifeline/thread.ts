import { BIND_EXIT } from "../../sys/library.ts";

/**
 * The thread that waits for a spawner to end. It is kept as a text, so that a compiled program has it too without
 * naming it as an entry point. A pending read on the main thread would keep the process alive, and a main thread that
 * computes or waits for a command would not notice the end.
 *
 * Bytes are thrown away, because only the end counts. Any error but EINTR counts as the end. After the bound this
 * thread ends the process through the C library, because `process.exit` would end only the thread. The bound is 0 until
 * it is set. It counts from the end, or from its last change if that is later.
 */
export const WAIT = `${BIND_EXIT}
  const { readSync } = require("node:fs");
  const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  onmessage = ({ data: { descriptor, bound, status } }) => {
    const exit = bindExit();
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
      if (Atomics.wait(bound, 0, ms, left) === "timed-out") exit(status);
    }
  };
`;

/** The status that a shell reports for a program ended by SIGTERM. */
export const TERMINATED_STATUS = 143;
