/**
 * Runs long work on the main thread in short turns, so that requests are served in between.
 *
 * Each round of the event loop runs one turn of all such work, so ten long readings delay a request no longer than one.
 */

/** How long one turn may keep everything else from running, in milliseconds. */
const TURN_MS = 1;

/** Work whose turn has not come yet, first come first served. */
const waiting: (() => void)[] = [];

/**
 * Runs a generator to its end. Each `yield` is a place where the work may pause.
 *
 * @returns the result itself if one turn was enough, else a promise of it; errors of the generator are thrown or rejected
 */
export function inSlices<T>(work: Generator<void, T>): T | Promise<T> {
  const first = runTurn(work);
  if (first.done) return first.value;
  return new Promise((resolve, reject) => {
    const resume = () => {
      try {
        const step = runTurn(work);
        if (step.done) resolve(step.value);
        else wait(resume);
      } catch (error) {
        reject(error);
      }
    };
    wait(resume);
  });
}

/** Runs a generator to its end in one go: for work that is short, or that delays nothing else. */
export function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

function runTurn<T>(work: Generator<void, T>): IteratorResult<void, T> {
  const end = performance.now() + TURN_MS;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= end) return step;
  }
}

let isTurnDue = false;

function wait(resume: () => void): void {
  waiting.push(resume);
  schedule();
}

function schedule(): void {
  if (isTurnDue || waiting.length === 0) return;
  isTurnDue = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isTurnDue = false;
  waiting.shift()?.();
  schedule();
}
