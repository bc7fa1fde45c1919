/** A child that its parent may not signal, because it now runs as another user. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { isRoot } from "../../kit/folders.ts";
import { processesOf, uniqueSleep } from "../world.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const source = join(import.meta.dir, "../../../src/runtime");
const SLEEP = uniqueSleep();

const PARENT = `
  import { endAll, Secret, systemClock } from "${source}/index.ts";
  import { startProcess } from "${source}/launch/child-process.ts";
  import { openLifeline } from "${source}/contract/lifeline.ts";
  import { openDirectoryPath } from "${source}/../sys/entries.ts";
  const quiet = async () => {};
  const root = openDirectoryPath("/");
  function start(...command) {
    const lifeline = openLifeline();
    const started = startProcess({
      command: [...command, "/bin/sh", "-c", "echo ready; exec ${SLEEP}"],
      workdir: root.value,
      environment: { PATH: process.env.PATH },
      lifeline: lifeline.value.readEnd,
      approval: new Secret("approval"),
      output: { stdout: quiet, stderr: quiet },
      clock: systemClock,
      diagnose: () => {},
    });
    return started.value;
  }
  const foreign = start("${Bun.which("setpriv")}", "--reuid=65534", "--clear-groups");
  const own = start();
  await Promise.all([foreign.firstLine, own.firstLine]);
  endAll([foreign, own], systemClock).catch((error) => {
    console.log(error.message);
    process.exit(1);
  });
  await own.exited;
  console.log("its own child has ended");
  process.exit(0);
`;

// Root without the right to signal others is like any other user.
test.skipIf(!isRoot || !Bun.which("setpriv"))(
  "a child that its parent may not signal does not stop the others from being ended",
  async () => {
    const powerless = ["setpriv", "--bounding-set=-kill", "--inh-caps=-kill"];
    const parent = Bun.spawn([...powerless, process.execPath, "--no-env-file", "-e", PARENT], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said = await new Response(parent.stdout).text();
    const status = await parent.exited;
    for (const pid of processesOf(SLEEP)) process.kill(pid, "SIGKILL");
    expect([said, status]).toEqual(["its own child has ended\n", 0]);
  },
);
