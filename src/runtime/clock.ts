/**
 * The clock that all time limits of the runtime use. It is a parameter, so that tests of long limits run in
 * milliseconds.
 */
export interface Clock {
  /** Unix milliseconds. Only compared with `expires_at_ms`. */
  now(): number;
  /** Milliseconds of a clock that nobody can set: the difference of two readings is a duration. */
  elapsed(): number;
  /** Calls `callback` once after `ms` milliseconds, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** The longest timeout: `setTimeout` fires at once for anything longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback) {
    let timer: ReturnType<typeof setTimeout>;
    const arm = (left: number) => {
      timer =
        left > LONGEST_TIMER_MS
          ? setTimeout(() => arm(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
          : setTimeout(callback, left);
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** The result of `promise`, or `"late"` if it has not settled within `ms` milliseconds. The promise is not stopped. */
export async function within<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
): Promise<{ readonly value: T } | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const cancel = clock.after(ms, () => resolve("late"));
  try {
    return await Promise.race([promise.then((value) => ({ value })), late]);
  } finally {
    cancel();
  }
}

/** The result of `promise`, or `"aborted"` if the signal came first. The promise is not stopped. */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  promise: Promise<T>,
): Promise<T | "aborted"> {
  if (!signal) return promise;
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const abort = () => resolve("aborted");
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
