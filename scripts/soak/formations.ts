/** 32 clients play formations, kill some sessions and inject faults. Then the daemon's counts must equal a model's. */

import { playFormation, playUntil, soakContext } from "./client.ts";
import {
  compare,
  daemonArguments,
  publishFormation,
  residentMegabytes,
  startDaemon,
  waitForReservations,
} from "./daemon.ts";
import type { Outcome } from "./outcome.ts";

const CLIENTS = 32;
const KILLABLE = 100;

export async function soakFormations(home: string, minutes: number): Promise<Outcome> {
  await publishFormation(home);
  const daemon = await startDaemon(home, daemonArguments(600, "parent"));
  try {
    const first = residentMegabytes(daemon.pid);
    const context = soakContext(home, daemon.port, KILLABLE);
    const end = performance.now() + minutes * 60_000;
    const client = () => playUntil(context, end, () => playFormation(context));
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const { model, tally } = context;
    await waitForReservations(model);
    const difference = await compare(daemon.url, model);
    const last = residentMegabytes(daemon.pid);
    const exit = await daemon.stop();
    return {
      rows: [
        ["minutes, clients", `${minutes}, ${CLIENTS}`],
        ["formations", tally.formations],
        ["requests", tally.requests],
        ["refusals among them", tally.refusals],
        ["faults injected", tally.faults],
        ["sessions registered", model.sessions.length],
        ["of these killed, their slots held", tally.killed],
        ["memory first and last, MB", `${first}, ${last}`],
        ["answers that nothing allows", tally.unexpected.length],
        ["difference between the daemon's counts and the model's", difference],
      ],
      faults: [
        ...tally.unexpected,
        ...(difference === 0 ? [] : [`the daemon's counts and the model's differ by ${difference}`]),
        ...(exit === 0 ? [] : [`the daemon ended with ${exit}`]),
      ],
    };
  } finally {
    await daemon.kill("SIGKILL");
  }
}
