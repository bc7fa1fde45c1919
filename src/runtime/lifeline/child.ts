/** The child's half of a spawner lifeline. It holds the read end and sees end of file when its spawner ends. */

import { fault, ok, type Result } from "../../result.ts";
import { read } from "../../sys/content.ts";
import { type Descriptor, isReadOnly, readable, setCloseOnExec } from "../../sys/descriptors.ts";
import { libraryFault } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import type { Environment } from "../contract/environment.ts";
import type { StartRefusal } from "../start-refusal.ts";
import { TERMINATED_STATUS, WAIT } from "./thread.ts";

/** How long a teardown may run after the spawner's end before it is cut short. */
export const TEARDOWN_MS = 20_000;

/** The child's end of its lifeline. */
export interface HeldLifeline {
  /** Settles when the spawner's process has ended, or at once if it already has. Never rejects. */
  readonly ended: Promise<void>;
  /**
   * Ends this process with status 143 this many milliseconds after its spawner's end, or from now if the spawner has
   * already ended. This works even if the main thread is in a busy loop or waits for a command. The last call counts.
   */
  readonly exitAfter: (ms: number) => void;
}

/**
 * Takes over the descriptor that `MURMUR_SPAWNER_LIFELINE` names. Call it once, before anything is started.
 *
 * The descriptor becomes close-on-exec. Waiting for its end does not keep the process alive.
 *
 * @returns `undefined` if the variable is absent or blank; `E-RUN-020` if it names anything but an open pipe's read end
 *   numbered 3 or above
 */
export function holdLifeline(environment: Environment): Result<HeldLifeline | undefined, StartRefusal> {
  const text = environment.MURMUR_SPAWNER_LIFELINE?.trim() ?? "";
  if (text === "") return ok(undefined);
  const noCalls = libraryFault();
  if (noCalls !== undefined) return refused(`this process may not call the C library (${noCalls})`);
  const end = readEndIn(text);
  if (!end.ok) return refused(end.fault);
  const descriptor = end.value;
  if (!setCloseOnExec(descriptor).ok) return refused(`descriptor ${descriptor} cannot be made close-on-exec`);
  return ok(hold(descriptor));
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

/** How often the main thread checks the descriptor if there is no thread, in milliseconds. */
const LOOK_MS = 20;

function hold(descriptor: Descriptor): HeldLifeline {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const bound = new Int32Array(new SharedArrayBuffer(4));
  let threaded = true;
  const withoutThread = () => {
    threaded = false;
    lookNowAndThen(descriptor, resolve);
  };
  try {
    waitInThread({ descriptor, bound, status: TERMINATED_STATUS }, resolve, withoutThread);
  } catch {
    withoutThread();
  }
  return {
    ended,
    exitAfter(ms) {
      Atomics.store(bound, 0, ms);
      Atomics.notify(bound, 0);
      // The main thread can do no better: a busy one outlives its spawner until it is done.
      void ended.then(() => {
        if (!threaded)
          setTimeout(() => Atomics.load(bound, 0) === ms && process.exit(TERMINATED_STATUS), ms).unref();
      });
    },
  };
}

function waitInThread(order: object, onEnd: () => void, onError: () => void): void {
  const source = URL.createObjectURL(new Blob([WAIT], { type: "application/javascript" }));
  const thread = new Worker(source);
  thread.unref();
  thread.onmessage = onEnd;
  thread.onerror = onError;
  thread.postMessage(order);
}

function lookNowAndThen(descriptor: Descriptor, onEnd: () => void): void {
  const ignored = new Uint8Array(4096);
  const timer = setInterval(() => {
    if (readable([descriptor])[0] !== true) return;
    const count = read(descriptor, ignored);
    if (count.ok && count.value > 0) return;
    clearInterval(timer);
    onEnd();
  }, LOOK_MS);
  timer.unref();
}
