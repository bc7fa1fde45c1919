import { expect, test } from "bun:test";
import fc from "fast-check";
import { ReservationRing } from "../../src/sessions/reservation-ring.ts";

/** Few buckets, so that chains are long: what an id is found by is its first eight digits. */
const idOf = (number: number) =>
  (number % 5).toString(16).padStart(8, "0") + number.toString(16).padStart(24, "0");

type Step = { readonly push: number } | { readonly shift: number };

/** Beginnings: the first reservation ever, and where the lower 32 bits of its ordinal start anew. */
test.each([1, 2 ** 32 - 3, 2 ** 32 - 700, 2 ** 33 - 1])(
  "from ordinal %d on, exactly what is in the ring is found",
  (first) => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ push: fc.integer({ min: 1, max: 1500 }) }),
        fc.record({ shift: fc.integer({ min: 1, max: 2000 }) }),
      ),
      { maxLength: 8 },
    );
    const run = (taken: readonly Step[]) => {
      const ring = new ReservationRing(first);
      let [oldest, next] = [0, 0];
      for (const step of taken) {
        if ("push" in step)
          for (let count = 0; count < step.push; count++, next++) ring.push(idOf(next), next % 7, next);
        else for (let count = 0; count < step.shift && oldest < next; count++, oldest++) ring.shift();
        for (const number of [
          oldest - 1,
          oldest,
          oldest + 1,
          (oldest + next) >> 1,
          next - 1,
          next,
          next + 1,
        ]) {
          if (number < 0) continue;
          const found = ring.find(idOf(number));
          expect(found === 0 ? undefined : ring.holder(found)).toBe(
            number >= oldest && number < next ? number % 7 : undefined,
          );
        }
        expect(ring.expired(oldest - 1)).toBe(0);
        expect(ring.expired(oldest) === 0).toBe(oldest === next);
      }
    };
    fc.assert(fc.property(steps, run), { numRuns: 60 });
  },
);

test("what is spent or freed is so once, also after the ring has grown and shrunk", () => {
  const ring = new ReservationRing(2 ** 32 - 2);
  for (let number = 0; number < 5; number++) ring.push(idOf(number), 1, 0);
  expect([ring.spend(ring.find(idOf(3))), ring.spend(ring.find(idOf(3)))]).toEqual([true, false]);
  for (let number = 5; number < 3000; number++) ring.push(idOf(number), 1, 0);
  expect([ring.spend(ring.find(idOf(3))), ring.free(ring.find(idOf(3)))]).toEqual([false, true]);
  expect(ring.spend(ring.find(idOf(2990)))).toBe(true);
  for (let number = 0; number < 2900; number++) ring.shift();
  expect([ring.find(idOf(3)), ring.spend(ring.find(idOf(2990)))]).toEqual([0, false]);
  expect(ring.free(ring.find(idOf(2990)))).toBe(true);
});
