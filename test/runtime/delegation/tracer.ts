import { dlopen } from "bun:ffi";
import { join } from "node:path";

/** Who holds a process so that not even SIGKILL lets its parent reap it. */
export interface Tracer {
  readonly held: boolean;
  /** Lets the process go. */
  end(): Promise<void>;
}

export async function trace(pid: number): Promise<Tracer> {
  const tracer = Bun.spawn([process.execPath, join(import.meta.dir, "tracer-program.ts"), String(pid)], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const { value } = await tracer.stdout.getReader().read();
  return {
    held: Buffer.from(value ?? []).toString() === "held\n",
    async end() {
      tracer.kill("SIGKILL");
      await tracer.exited;
    },
  };
}

/** Whether this host lets one process of a user's trace another: containers and kernels may not. */
export async function canTrace(): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const sleeper = Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "ignore", "ignore"] });
  const { held, end } = await trace(sleeper.pid);
  await end();
  sleeper.kill("SIGKILL");
  await sleeper.exited;
  return held;
}

const PR_SET_PTRACER = 0x59616d61;
const PR_SET_PTRACER_ANY = -1n;

/** Lets any process of this user's trace this one, where the kernel asks for it (Yama); elsewhere it does nothing. */
export function allowTracing(): void {
  const { symbols, close } = dlopen("libc.so.6", {
    prctl: { args: ["i32", "i64", "i64", "i64", "i64"], returns: "i32" },
  });
  symbols.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0n, 0n, 0n);
  close();
}
