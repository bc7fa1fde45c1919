/** A copy of the tree, in which a change is made and a folder's tests run. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestRun {
  readonly passed: boolean;
  /** What the tests said. */
  readonly printed: string;
  /** Processor time, which does not depend on how busy the machine is. */
  readonly cpuSeconds: number;
  readonly wallMs: number;
  /** Whether it was ended by one of its limits. */
  readonly wasCut: boolean;
}

export interface RunLimits {
  /** A whole number. */
  readonly cpuSeconds: number;
  /** For a run that waits for something that never happens. */
  readonly wallMs: number;
}

/** Generated cases are the same in every run: what one run notices, the next one does too. */
const FIXED_SEED = 'import fc from "fast-check";\nfc.configureGlobal({ seed: 1 });\n';
const SEED_FILE = "fixed-seed.ts";
/** Where the tests keep their temporary files: what a killed one leaves there goes with the copy. */
const TEMPORARY = "temporary";

/** What git tracks and what is new, as it stands in the work tree; the dependencies by a link. */
export class WorkingCopy {
  readonly #path = mkdtempSync(join(tmpdir(), "mur-roost-mutants-"));
  #running: number | undefined;
  #isStopped = false;

  constructor(root: string) {
    try {
      for (const file of filesOf(root, "")) cpSync(join(root, file), join(this.#path, file));
      symlinkSync(join(root, "node_modules"), join(this.#path, "node_modules"));
      mkdirSync(join(this.#path, TEMPORARY));
      this.write(SEED_FILE, FIXED_SEED);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#path, file), text);
  }

  /** Runs files of tests, or folders of them, up to the first failure. A run that is cut has failed. */
  async test(tests: readonly string[], { cpuSeconds, wallMs }: RunLimits): Promise<TestRun> {
    if (this.#isStopped) return { passed: false, printed: "", cpuSeconds: 0, wallMs: 0, wasCut: true };
    const started = performance.now();
    const limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', String(cpuSeconds), process.execPath];
    const options = ["--bail", "--preload", `./${SEED_FILE}`, "--timeout", String(wallMs)];
    const test = Bun.spawn([...limited, "test", ...options, ...tests.map((path) => `./${path}`)], {
      cwd: this.#path,
      env: { ...process.env, TMPDIR: join(this.#path, TEMPORARY), FUZZ_SEED: "1" },
      stdio: ["ignore", "ignore", "pipe"],
      // A process group of its own: what the tests started ends with them.
      detached: true,
    });
    this.#running = test.pid;
    const limit = setTimeout(() => endGroup(test.pid), wallMs);
    const printing = new Response(test.stderr).text();
    const code = await test.exited;
    clearTimeout(limit);
    endGroup(test.pid);
    this.#running = undefined;
    return {
      passed: code === 0,
      printed: await printing,
      cpuSeconds: Number(test.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
      wallMs: performance.now() - started,
      wasCut: test.signalCode !== null,
    };
  }

  /** Ends the tests that run; none runs afterwards. */
  stop(): void {
    this.#isStopped = true;
    if (this.#running !== undefined) endGroup(this.#running);
  }

  remove(): void {
    this.stop();
    rmSync(this.#path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Files that are there, from the root of the tree. */
export function filesOf(root: string, folder: string): string[] {
  const list = Bun.spawnSync(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", `./${folder}`],
    { cwd: root },
  );
  if (!list.success) throw new Error(`git ls-files: ${list.stderr.toString().trim()}`);
  const listed = list.stdout.toString().split("\0");
  return listed.filter((file) => file !== "" && existsSync(join(root, file)));
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}
