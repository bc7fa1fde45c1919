/**
 * A delegating capsule as a process of its own: takes its door's port, hands one task on, waits, and tells its test each
 * step as a line of JSON. Arguments: the port, the task, and those of a run.
 */

import { canDelegate, openSession, parseRunArguments } from "../../../src/runtime/index.ts";
import { continued, started } from "./driving.ts";
import { type ServedDelegations, serveDelegations } from "./host.ts";

const [port = "0", what = "", ...argv] = process.argv.slice(2);
const tell = (step: object) => process.stdout.write(`${JSON.stringify(step)}\n`);

const run = parseRunArguments(argv);
if (!run.ok) throw new Error(run.fault);
const opened = await openSession({ run: run.value });
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
