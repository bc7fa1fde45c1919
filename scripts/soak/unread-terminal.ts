/**
 * `bun unread-terminal.ts <command …>`: starts a daemon on a terminal, reads it until the daemon listens, says so in one
 * line of JSON, and then stops reading, like a terminal whose window hangs.
 */

import { writeSync } from "node:fs";

const shown = { text: "" };
const decoder = new TextDecoder();
const child = Bun.spawn(process.argv.slice(2), {
  env: process.env,
  terminal: {
    cols: 200,
    rows: 50,
    data(_, bytes) {
      shown.text += decoder.decode(bytes, { stream: true });
      // The last of the start-up lines.
      if (shown.text.includes("machine ceiling")) hang();
    },
  },
});

function hang(): void {
  const port = Number(/listening on 127\.0\.0\.1:(\d+)/.exec(shown.text)?.[1]);
  writeSync(1, `${JSON.stringify({ pid: child.pid, port })}\n`);
  // Wait for ever. The caller kills this process.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
