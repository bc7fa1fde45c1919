/** Starts the daemon as a process of its own, on a free port, and waits until it listens. */

/** Disposing of it kills it. */
export interface DaemonProcess extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Everything it has written to stderr so far. */
  stderr(): string;
  /** Everything it wrote to stdout, once it has ended. */
  stdout(): Promise<string>;
  /** Ends it with SIGTERM; resolves with its exit code, or the signal that killed it. */
  stop(): Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

export interface DaemonOptions {
  /** The executable, with leading arguments if it is an interpreter. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** The daemon's HOME, where it looks for running capsules. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Kills the daemon, whether it listens yet or not. */
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/**
 * @throws Error with the daemon's own message if it ends before it listens; its process is gone by then
 */
export async function startDaemonProcess(options: DaemonOptions): Promise<DaemonProcess> {
  const child = Bun.spawn([...options.command, ...options.args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: process.env.PATH ?? "", ...options.env, HOME: options.home },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.signal !== undefined && { signal: options.signal, killSignal: "SIGKILL" }),
  });
  let written = "";
  const stdout = new Response(child.stdout).text();
  const port = Promise.withResolvers<number>();
  const draining = (async () => {
    let rest = "";
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      written += chunk;
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        options.onLine?.(line);
        // The last of the start-up lines, so all of them have been seen.
        if (line.includes("machine ceiling"))
          port.resolve(Number(/listening on 127\.0\.0\.1:(\d+)/.exec(written)?.[1]));
      }
    }
    port.reject(new Error(`the daemon ended before it listened: ${written.trim()}`));
  })();
  const end = async () => {
    await child.exited;
    await draining;
    return child.signalCode ?? child.exitCode ?? 0;
  };
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return end();
  };
  const bound = await port.promise.catch(async (error: unknown) => {
    // It may have closed its stderr and gone on.
    await kill("SIGKILL");
    throw error;
  });
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    pid: child.pid,
    stderr: () => written,
    stdout: () => stdout,
    stop: () => kill("SIGTERM"),
    kill,
    [Symbol.asyncDispose]: async () => void (await kill("SIGKILL")),
  };
}
