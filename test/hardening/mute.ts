/** The compiled daemon on a leased port, for tests in which its stderr cannot report the port. */

import { compiledBinary } from "../kit/binary.ts";
import { Caller, type Host } from "../kit/host.ts";
import { leasePort } from "../kit/leased-port.ts";

export interface MuteDaemon extends AsyncDisposable {
  readonly caller: Caller;
  readonly process: Bun.Subprocess;
}

export interface MuteOptions {
  /** Put before the executable. */
  readonly prefix?: readonly string[];
  readonly binary?: string | undefined;
  readonly args?: readonly string[];
  /** In its own process group, with its children. */
  readonly detached?: boolean;
}

/**
 * Starts it with this stderr, and waits until it answers; `local/parent` may register without an approval.
 *
 * @returns a handle that kills the daemon with `SIGKILL` if it is still running
 */
export async function startMute(
  host: Host,
  stderr: number | "ignore",
  options: MuteOptions = {},
): Promise<MuteDaemon> {
  await using undo = new AsyncDisposableStack();
  const { port } = undo.use(await leasePort());
  const process = Bun.spawn(
    [
      ...(options.prefix ?? []),
      options.binary ?? compiledBinary(),
      ...["--port", String(port), "--spawn-allow", "local/parent", "--max-live-capsules", "100000"],
      ...(options.args ?? []),
    ],
    {
      env: { HOME: host.home, PATH: globalThis.process.env.PATH ?? "" },
      stdio: ["ignore", "ignore", stderr],
      detached: options.detached === true,
    },
  );
  undo.defer(async () => {
    if (options.detached) killGroup(process.pid);
    else process.kill("SIGKILL");
    await process.exited;
  });
  let ended = false;
  void process.exited.then(() => {
    ended = true;
  });
  const caller = Caller.of({ port });
  while (!(await isAnswering(caller))) {
    if (ended) throw new Error(`the daemon ended with ${process.exitCode}`);
    await Bun.sleep(5);
  }
  const whole = undo.move();
  return { caller, process, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

const isAnswering = (caller: Caller) =>
  caller.send("/health").then(
    () => true,
    () => false,
  );
