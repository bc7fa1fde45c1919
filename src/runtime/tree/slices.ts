/** Long work on the main thread in short turns. */

/** How long one turn may keep everything else from running. */
const TURN_MS = 4;

/** Runs a generator to its end; after each turn the event loop comes round. */
export async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  for (let end = performance.now() + TURN_MS; ; ) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < end) continue;
    await new Promise((resolve) => setImmediate(resolve));
    end = performance.now() + TURN_MS;
  }
}
