/** The clock that every bound of the runtime is kept by: an argument, so that a test runs in milliseconds what takes minutes. */
export interface Clock {
  /** Unix milliseconds: compared with `expires_at_ms`, and nothing else. */
  now(): number;
  /** Milliseconds of a clock that no one sets: the difference of two readings is a duration. */
  elapsed(): number;
  /** Calls `callback` once, `ms` milliseconds from now, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** `setTimeout` fires at once for anything longer. */
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

/** What `promise` came to, or `"late"` where it had not within `ms` milliseconds. The promise is not stopped. */
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
