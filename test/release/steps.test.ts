import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stageRelease } from "../../scripts/release/staging.ts";
import { runSteps, type Step } from "../../scripts/release/steps.ts";
import { fault, ok, type Result } from "../../src/result.ts";
import { scratchDirectory } from "../kit/scratch.ts";

describe("the steps", () => {
  function run(runs: Record<string, Step["run"]>, interrupted = new AbortController().signal) {
    const lines: string[] = [];
    const steps = Object.entries(runs).map(([name, step]) => ({ target: "linux-x86_64", name, run: step }));
    let now = 0;
    const clock = () => {
      now += 1250;
      return now;
    };
    const outcome = runSteps(steps, (line) => lines.push(line), clock, interrupted);
    return outcome.then((value) => ({ value, lines: lines.map((line) => line.replace(/ +/g, " ")) }));
  }
  const passes = async () => ok("fine");

  test("report what they did and how long it took", async () => {
    const { value, lines } = await run({ build: passes, glibc: passes });
    expect(value.ok).toBe(true);
    expect(lines).toEqual(["linux-x86_64 build 1.3 s fine", "linux-x86_64 glibc 1.3 s fine"]);
  });

  test("stop at the first fault, which names the target and the step", async () => {
    const { value, lines } = await run({
      build: passes,
      glibc: async () => fault("too new"),
      never: () => Promise.reject(new Error("this step must not begin")),
    });
    expect(value).toEqual({ ok: false, fault: "linux-x86_64: glibc: too new" });
    expect(lines).toHaveLength(1);
  });

  test("treat an exception as a fault", async () => {
    const { value } = await run({ build: () => Promise.reject(new Error("no space left")) });
    expect(value).toEqual({ ok: false, fault: "linux-x86_64: build: no space left" });
  });

  test("stop when they are interrupted", async () => {
    const interruption = new AbortController();
    const { value } = await run(
      {
        build: async () => {
          interruption.abort("SIGINT");
          return ok("built");
        },
        never: () => Promise.reject(new Error("this step must not begin")),
      },
      interruption.signal,
    );
    expect(value).toEqual({ ok: false, fault: "linux-x86_64: build: interrupted by SIGINT" });
  });
});

describe("a release", () => {
  const written =
    (outcome: () => Result<undefined, string>) =>
    async ({ files, work }: { readonly files: string; readonly work: string }) => {
      writeFileSync(join(files, "checksums.txt"), "new");
      writeFileSync(join(work, "runtime"), "scratch");
      return outcome();
    };

  function dist(directory: string): string {
    mkdirSync(join(directory, "release"));
    writeFileSync(join(directory, "release", "checksums.txt"), "old");
    writeFileSync(join(directory, "release", "left-over"), "old");
    return join(directory, "release");
  }

  test("replaces the previous one in one step, and leaves no other files", async () => {
    using scratch = scratchDirectory();
    const place = dist(scratch.path);
    expect(
      (
        await stageRelease(
          place,
          written(() => ok(undefined)),
        )
      ).ok,
    ).toBe(true);
    expect(readdirSync(place)).toEqual(["checksums.txt"]);
    expect(readFileSync(join(place, "checksums.txt"), "utf8")).toBe("new");
    expect(readdirSync(scratch.path)).toEqual(["release"]);
  });

  test("is created even if its directory does not exist", async () => {
    using scratch = scratchDirectory();
    const place = join(scratch.path, "dist/release");
    await stageRelease(
      place,
      written(() => ok(undefined)),
    );
    expect(readdirSync(place)).toEqual(["checksums.txt"]);
  });

  test("is not created if a step fails, and the previous one stays", async () => {
    using scratch = scratchDirectory();
    const place = dist(scratch.path);
    const failing = written(() => fault("linux-x86_64: glibc: too new"));
    expect(await stageRelease(place, failing)).toEqual({ ok: false, fault: "linux-x86_64: glibc: too new" });
    const throwing = written(() => {
      throw new Error("a defect");
    });
    await expect(stageRelease(place, throwing)).rejects.toThrow("a defect");
    expect(readFileSync(join(place, "checksums.txt"), "utf8")).toBe("old");
    expect(readdirSync(scratch.path)).toEqual(["release"]);
  });
});
