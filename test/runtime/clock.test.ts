import { afterEach, expect, spyOn, test } from "bun:test";
import { systemClock } from "../../src/runtime/index.ts";

/** The longest that `setTimeout` waits: it fires at once for anything longer. */
const LONGEST_MS = 2 ** 31 - 1;

afterEach(() => {
  spies.map((spy) => spy.mockRestore());
});
const spies: { mockRestore(): void }[] = [];

/** The timers that are set from now on, none of which fires by itself. */
function timers() {
  const set: { readonly ms: number; readonly run: () => void }[] = [];
  const cleared: unknown[] = [];
  const setting = spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
    set.push({ run, ms })) as unknown as typeof setTimeout);
  const clearing = spyOn(globalThis, "clearTimeout").mockImplementation((timer) => void cleared.push(timer));
  spies.push(setting, clearing);
  return { set, cleared };
}

test.each([0, 1_000, LONGEST_MS, LONGEST_MS + 1, 60 * 86_400_000, 60 * 86_400_000 + 30_000])(
  "a wait of %i ms is exact to the millisecond, in pieces if one timer is too short",
  (ms) => {
    const { set } = timers();
    let fired = 0;
    systemClock.after(ms, () => fired++);
    for (let piece = 0; piece < set.length; piece++) {
      expect(fired).toBe(0);
      set[piece]?.run();
    }
    expect(fired).toBe(1);
    expect(set.every((timer) => timer.ms <= LONGEST_MS)).toBe(true);
    expect(set.reduce((sum, timer) => sum + timer.ms, 0)).toBe(ms);
  },
);

test("a callback can be cancelled in any piece of its wait", () => {
  const { set, cleared } = timers();
  const cancel = systemClock.after(3 * LONGEST_MS, () => {});
  set[0]?.run();
  cancel();
  expect(cleared).toEqual([2]);
});
