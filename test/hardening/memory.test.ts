/** No process of the same user can read the daemon's memory once it runs, or even earlier if the host helps. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { type DaemonProcess, startDaemonProcess } from "../kit/daemon-process.ts";
import { until } from "../kit/until.ts";
import { createOrdinaryUser, type OrdinaryUser } from "./ordinary-user.ts";

const onLinux = process.platform === "linux";

describe.skipIf(!onLinux)("another process of the same ordinary user", () => {
  let user: OrdinaryUser;
  let daemon: DaemonProcess;
  /** An unprotected process: everything that is refused for the daemon must be open here. */
  let open: Bun.Subprocess;

  beforeAll(async () => {
    user = createOrdinaryUser();
    daemon = await startDaemonProcess({
      command: [...user.prefix, user.binary],
      args: ["--port", "0"],
      home: user.home,
      env: { SECRET_OF_THE_DAEMON: "yes" },
    });
    open = Bun.spawn([...user.prefix, "sleep", "600"], {
      env: { SECRET: "yes", PATH: process.env.PATH ?? "" },
    });
    await until("the open process runs", async () => (await user.run(`cat /proc/${open.pid}/environ`)) === 0);
  });
  afterAll(async () => {
    open.kill("SIGKILL");
    await open.exited;
    const code = await daemon.stop();
    user.remove();
    // It was there all the time: a process that has ended would have refused everything too.
    expect(code).toBe(0);
  });

  for (const file of ["mem", "environ", "maps", "auxv", "syscall"]) {
    test(`cannot open /proc/<pid>/${file}`, async () => {
      // Yama may restrict a debugger's right to the open process.
      if (file !== "mem" || ptraceScope === 0) {
        expect(await user.run(`exec 3< /proc/${open.pid}/${file}`)).toBe(0);
      }
      expect(await user.run(`exec 3< /proc/${daemon.pid}/${file}`)).not.toBe(0);
    });
  }

  test("cannot list or follow its descriptors", async () => {
    expect(await user.run(`ls /proc/${open.pid}/fd`)).toBe(0);
    expect(await user.run(`ls /proc/${daemon.pid}/fd`)).not.toBe(0);
    expect(await user.run(`readlink /proc/${open.pid}/cwd`)).toBe(0);
    expect(await user.run(`readlink /proc/${daemon.pid}/cwd`)).not.toBe(0);
  });

  test("finds no core dump, and none can be written", async () => {
    const limits = readFileSync(`/proc/${daemon.pid}/limits`, "utf8");
    expect(limits).toMatch(/^Max core file size +0 +0 /m);
    const crashing = await startDaemonProcess({
      command: ["sh", "-c", 'ulimit -c unlimited 2>/dev/null; exec "$@"', "sh", ...user.prefix, user.binary],
      args: ["--port", "0"],
      home: user.home,
      cwd: user.home,
    });
    const before = readdirSync(user.home).sort();
    expect(await crashing.kill("SIGABRT")).toBe("SIGABRT");
    expect(readdirSync(user.home).sort()).toEqual(before);
  });
});

/** 0 or absent: every process of a user may look into the user's others. */
const ptraceScope = (() => {
  const path = "/proc/sys/kernel/yama/ptrace_scope";
  return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
})();

/**
 * Opens the memory of a process as often as it can, from the moment that it has become the daemon: fails at the first
 * time that works. The daemon has long been listening at the end of it.
 */
const ATTACK = `
  tried=0
  while [ $tried -lt 20000 ]; do
    read -r name < /proc/$pid/comm || exit 2
    [ "$name" = mur-roost ] || continue
    if { :; } < /proc/$pid/mem; then exit 1; fi
    tried=$((tried + 1))
  done 2>/dev/null
  exit 0`;

describe.skipIf(!onLinux || process.getuid?.() !== 0)(
  "from its first moment on, a process of the same user",
  () => {
    async function attack(mode: number): Promise<number> {
      const user = createOrdinaryUser();
      chmodSync(user.binary, mode);
      const daemon = Bun.spawn([...user.prefix, "sh", "-c", 'read -r _; exec "$0" --port 0', user.binary], {
        env: { HOME: user.home },
        stdio: ["pipe", "ignore", "ignore"],
      });
      try {
        const attacked = user.run(`pid=${daemon.pid}; ${ATTACK}`);
        daemon.stdin.write("go\n");
        await daemon.stdin.flush();
        return await attacked;
      } finally {
        daemon.kill("SIGKILL");
        await daemon.exited;
        user.remove();
      }
    }

    test("cannot open the memory of an executable that it may run but not read", async () => {
      expect(await attack(0o711)).toBe(0);
    });

    test.skipIf(ptraceScope === 0)(
      "cannot open its memory if Yama forbids it (skipped elsewhere)",
      async () => {
        expect(await attack(0o755)).toBe(0);
      },
    );
  },
);
