/**
 * A spawner lifeline: a pipe that tells a child that its parent is gone. The parent keeps the write end open for as long
 * as the child should live. The child holds the read end, and sees end of file when its parent ends.
 */

import { fault, ok, type Result } from "../../result.ts";
import { read } from "../../sys/content.ts";
import {
  close,
  type Descriptor,
  isReadOnly,
  openPipe,
  readable,
  setCloseOnExec,
} from "../../sys/descriptors.ts";
import { BIND_EXIT, libraryFault, type Posix } from "../../sys/library.ts";
import { statusOf } from "../../sys/status.ts";
import { type Environment, refuse, type StartRefusal } from "./environment.ts";

export interface ParentLifeline {
  /** For the child: hand it on as one of its descriptors. */
  readonly readEnd: number;
  /**
   * Call it when the child has the read end. It closes this process's copy, so that only the child sees the end of
   * file. The write end is closed once the child is gone. A child that nothing can end keeps its lifeline, so that it
   * ends with this process.
   */
  handedOver(gone: Promise<void>): void;
  /** Closes both ends, unless a child has the lifeline. */
  close(): void;
}

/**
 * Makes a lifeline for one child. Nothing is ever written to it. However this process ends, the kernel closes the write
 * end, and the child reads end of file.
 */
export function openLifeline(): Posix<ParentLifeline> {
  const pipe = openPipe();
  if (!pipe.ok) return pipe;
  const { readEnd, writeEnd } = pipe.value;
  // Each number is closed once only: by the second time it could belong to another descriptor.
  let ours = true;
  return ok({
    readEnd,
    handedOver(gone) {
      if (!ours) return;
      ours = false;
      close(readEnd);
      void gone.then(() => close(writeEnd));
    },
    close() {
      if (!ours) return;
      ours = false;
      close(readEnd);
      close(writeEnd);
    },
  });
}

/** The status that a shell reports for a program ended by SIGTERM. */
export const TERMINATED_STATUS = 143;
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
  const status = statusOf(descriptor);
  if (!status.ok) return fault(`descriptor ${descriptor} is not open`);
  if (status.value.kind !== "fifo") return fault(`descriptor ${descriptor} is not a pipe`);
  if (!isReadOnly(descriptor)) return fault(`descriptor ${descriptor} is not the read end of its pipe`);
  return ok(descriptor);
}

function refused(why: string): Result<never, StartRefusal> {
  return refuse(
    "E-RUN-020",
    `MURMUR_SPAWNER_LIFELINE does not name a spawner lifeline: ${why}; unset it to start this capsule on its own`,
  );
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

/**
 * The thread that waits for a spawner to end. It is kept as a text, so that a compiled program has it too without
 * naming it as an entry point. A pending read on the main thread would keep the process alive, and a main thread that
 * computes or waits for a command would not notice the end.
 *
 * Bytes are thrown away, because only the end counts. Any error but EINTR counts as the end. After the bound this
 * thread ends the process through the C library, because `process.exit` would end only the thread. The bound is 0 until
 * it is set. It counts from the end, or from its last change if that is later.
 */
const WAIT = `${BIND_EXIT}
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
