/**
 * The two curves of the chart: `/spawn` throughput while the asking session holds more and more reservations, and after
 * more and more sessions have come and gone. The floor is measured together with each point.
 */

import { CHILD } from "./host.ts";
import { runLoad } from "./load.ts";
import { spawnRequest } from "./requests.ts";
import { median } from "./row.ts";
import type { Server } from "./server.ts";
import {
  CONNECTIONS,
  deregister,
  finishSessions,
  holdReservations,
  liveChildren,
  register,
} from "./sessions.ts";
import type { Servers } from "./throughput.ts";

export interface Point {
  /** Reservations held, or sessions finished. */
  readonly at: number;
  /** `/spawn` requests per second. */
  readonly rate: number;
  readonly ofFloor: number;
}

export interface Curves {
  readonly held: readonly Point[];
  readonly finished: readonly Point[];
}

const SLICES_A_POINT = 3;

export async function measureCurves(
  { floor, fresh, held, finished }: Servers,
  options: {
    readonly reservations: number;
    readonly finished: number;
    readonly sliceMs: number;
    readonly leadInMs: number;
    readonly onPoint: (step: number) => void;
  },
): Promise<Curves> {
  const steps = [0, 0.1, 0.25, 0.5, 1, 2];
  const curves = { held: [] as Point[], finished: [] as Point[] };
  const holder = await register(held);
  let ended = 0;
  for (const [index, step] of steps.entries()) {
    options.onPoint(index + 1);
    await holdReservations(held, holder, step * options.reservations);
    const target = Math.min(1, step) * options.finished;
    await finishSessions(finished, target - ended);
    ended = target;
    const visitor = await register(finished);
    const idle = await register(fresh);
    const rates = { floor: [] as number[], held: [] as number[], finished: [] as number[] };
    const request = spawnRequest(holder.credential, CHILD);
    for (let slice = 0; slice < SLICES_A_POINT; slice++) {
      // Not a point of a curve: it keeps the daemon without a history as warm as the others.
      await rateOf(fresh, spawnRequest(idle.credential, CHILD), options);
      rates.floor.push(await rateOf(floor, request, options));
      rates.held.push(await rateOf(held, request, options));
      rates.finished.push(await rateOf(finished, spawnRequest(visitor.credential, CHILD), options));
    }
    await deregister(finished, visitor);
    await deregister(fresh, idle);
    const point = (at: number, of: readonly number[]): Point => {
      const rate = median(of);
      return { at, rate, ofFloor: rate / median(rates.floor) };
    };
    curves.held.push(point(await liveChildren(held, holder), rates.held));
    if (step <= 1) curves.finished.push(point(ended, rates.finished));
  }
  await deregister(held, holder);
  return curves;
}

async function rateOf(
  { port }: Server,
  request: Uint8Array,
  { sliceMs, leadInMs }: { readonly sliceMs: number; readonly leadInMs: number },
): Promise<number> {
  const load = { port, connections: CONNECTIONS, expect: 200, next: () => request };
  await runLoad({ ...load, forMs: leadInMs });
  const { answers, seconds } = await runLoad({ ...load, forMs: sliceMs });
  return answers / seconds;
}
