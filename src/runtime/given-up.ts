/** Waiting that can be cancelled. */

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
