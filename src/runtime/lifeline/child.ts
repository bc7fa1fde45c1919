/** The child's half of a spawner lifeline: it holds the read end and hears end of file when its spawner ends. */

import type { Environment } from "../contract/environment.ts";
import { isReadOnly, setCloseOnExec } from "../posix/pipe.ts";
import { statusOf } from "../posix.ts";
import { fault, ok, type Result, type StartRefusal } from "../result.ts";

export interface HeldLifeline {
  /** Settles when the spawner's process has ended, at once where that was earlier. It never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Takes hold of the descriptor that `MURMUR_SPAWNER_LIFELINE` names; call it once, before anything is started.
 *
 * The descriptor becomes close-on-exec. The wait for its end does not keep the process alive.
 *
 * @returns `undefined` where the variable is absent or blank; `E-RUN-020` where it names anything but an open pipe's
 *   read end numbered 3 or above
 */
export function holdLifeline(environment: Environment): Result<HeldLifeline | undefined, StartRefusal> {
  const text = environment.MURMUR_SPAWNER_LIFELINE?.trim() ?? "";
  if (text === "") return ok(undefined);
  const end = readEndIn(text);
  if (!end.ok) return refused(end.fault);
  const descriptor = end.value;
  if (!setCloseOnExec(descriptor).ok) return refused(`descriptor ${descriptor} cannot be made close-on-exec`);
  return ok({ ended: endOf(descriptor) });
}

/** The number of an open pipe's read end, 3 or above. The fault is a phrase: `descriptor 7 is not open`. */
export function readEndIn(text: string): Result<number, string> {
  const descriptor = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (descriptor < 3) return fault("it is not a number of 3 or above");
  const why = whyNoReadEnd(descriptor);
  return why === undefined ? ok(descriptor) : fault(`descriptor ${descriptor} ${why}`);
}

function refused(why: string): Result<never, StartRefusal> {
  return fault({
    code: "E-RUN-020",
    message: `MURMUR_SPAWNER_LIFELINE does not name a spawner lifeline: ${why}; unset it to start this capsule on its own`,
  });
}

function whyNoReadEnd(descriptor: number): string | undefined {
  const status = statusOf(descriptor);
  if (!status.ok) return "is not open";
  if (status.value.kind !== "fifo") return "is not a pipe";
  return isReadOnly(descriptor) ? undefined : "is not the read end of its pipe";
}

/**
 * Waits in a thread: a read pending on the main one would keep the process alive. The thread's source is a text, so
 * that it is there in a compiled program too, without being named as one of its entry points.
 *
 * Bytes are thrown away: whatever writes them is not the end. Any error but EINTR is.
 */
const WAIT = `
  const { readSync } = require("node:fs");
  onmessage = ({ data: descriptor }) => {
    const ignored = Buffer.alloc(4096);
    for (;;) {
      try {
        if (readSync(descriptor, ignored) === 0) break;
      } catch (error) {
        if (error.code === "EAGAIN") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
        else if (error.code !== "EINTR") break;
      }
    }
    postMessage("ended");
  };
`;

function endOf(descriptor: number): Promise<void> {
  const source = URL.createObjectURL(new Blob([WAIT], { type: "application/javascript" }));
  const thread = new Worker(source);
  thread.unref();
  thread.postMessage(descriptor);
  return new Promise((resolve) => {
    thread.onmessage = () => resolve();
    // A thread that cannot run cannot hear the spawner either: not to outlive it unheard is the rule.
    thread.onerror = () => resolve();
  });
}
