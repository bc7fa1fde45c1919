/** Interrupts work with a real session at each of its steps: wherever the work uses the session. */

import { createRoostClient, type RegisteredSession } from "../../src/runtime/index.ts";
import { patientClock } from "../kit/patient-clock.ts";

/** Is told of each use: a property that is read, a promise that has settled, a returned function that is called. */
export type Touched = (what: string) => void;

/**
 * The same object, but each use of it is reported. The plain objects in it, and those that its methods and their promises
 * return, are observed too. Others, such as a token or a socket, are passed on as they are.
 */
export function observed<T extends object>(of: T, touched: Touched, path = ""): T {
  return new Proxy(of, {
    get(target, key) {
      const name = `${path}${String(key)}`;
      touched(name);
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return observedValue(value, touched, name);
      return (...given: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, given);
        if (!(result instanceof Promise)) return observedValue(result, touched, name);
        return result.then((settled: unknown) => {
          touched(`${name} has settled`);
          return observedValue(settled, touched, name);
        });
      };
    },
  });
}

function observedValue(value: unknown, touched: Touched, name: string): unknown {
  if (typeof value === "function") {
    return (...given: unknown[]) => {
      touched(`${name}()`);
      return observedValue(Reflect.apply(value, undefined, given), touched, `${name}()`);
    };
  }
  const plain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return plain ? observed(value, touched, `${name}.`) : value;
}

/** The same session, but each use of it is reported, also of its clock by the launcher and the client. */
export function watchedSession<T extends RegisteredSession>(session: T, touched: Touched): T {
  const clock = observed(patientClock, touched, "clock.");
  const { client, credential } = session.registration;
  const registration = { client: createRoostClient(client.url, clock), credential };
  return observed({ ...session, clock, registration }, touched);
}

/** One run of a sweep: what it makes use of is told to `touched`, and `arm` says what is to happen at its moment. */
export interface Run {
  readonly touched: Touched;
  readonly arm: (interrupt: () => void) => void;
}

/**
 * Plays the same thing again and again. The first run is interrupted at its first moment, the second at its second, until
 * a run ends before its moment comes. A moment is the first `await` after a use of the session, so that code which runs
 * without a break is not interrupted in its middle.
 *
 * @param play plays once, and checks what is left
 * @param stride only every so many moments, where playing is expensive
 * @returns what was being made use of at each moment
 * @throws Error that says at which moment, with the cause
 */
export async function atEachMoment(
  play: (run: Run) => Promise<void>,
  { stride = 1 }: { readonly stride?: number } = {},
): Promise<string[]> {
  const moments: string[] = [];
  for (let at = 1; ; at += stride) {
    let count = 0;
    let inTurn = false;
    let moment: string | undefined;
    let interrupt = () => {};
    const touched = (what: string) => {
      if (inTurn) return;
      inTurn = true;
      const now = ++count === at;
      if (now) moment = what;
      queueMicrotask(() => {
        inTurn = false;
        if (now) interrupt();
      });
    };
    try {
      const arm = (armed: () => void) => {
        interrupt = armed;
      };
      await play({ touched, arm });
    } catch (error) {
      throw new Error(`at moment ${at}, ${moment}`, { cause: error });
    }
    if (moment === undefined) return moments;
    moments.push(moment);
  }
}
