/**
 * A delegating capsule as a process of its own: takes its door's port, delegates one task, waits, and tells its test
 * each step as a line of JSON. Arguments: those of a run, then the port and the task.
 */

import { canDelegate, openSession } from "../../../src/runtime/index.ts";
import { continued, started } from "./driving.ts";
import { type ServedDelegations, serveDelegations } from "./host.ts";

const [port, what = ""] = process.argv.slice(-2);
const tell = (step: object) => process.stdout.write(`${JSON.stringify(step)}\n`);

const opened = await openSession();
if (!opened.ok || !canDelegate(opened.value)) throw new Error(JSON.stringify(opened));
const session = opened.value;
tell({ session: session.id, records: session.directories.records.path });

/** Another may have the port, for as long as it lives. */
async function listen(): Promise<ServedDelegations> {
  for (;;) {
    try {
      return serveDelegations(session, Number(port));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
      await Bun.sleep(5);
    }
  }
}

const served = await listen();
tell({ door: served.url.href });
const task = served.task();
tell({ child: await started(task, what) });
tell({ told: await continued(task) });
process.exit(0);
