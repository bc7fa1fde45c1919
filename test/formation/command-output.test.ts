import { describe, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseFormation } from "../../src/formation/index.ts";
import { scratchDirectory } from "../kit/scratch.ts";
import { MAIN, ROOT, sharedCommand } from "./command.ts";
import { spawns, testRegistry } from "./kit.ts";

const { registry, here } = sharedCommand();

describe("standard output", () => {
  /** On its own terminal, by `script`, which every Linux has. */
  async function onTerminal(env: Record<string, string>): Promise<string> {
    const command = `${process.execPath} ${MAIN} ${ROOT} --registry-path ${registry().path}`;
    const child = Bun.spawn(["script", "--quiet", "--return", "--command", command, "/dev/null"], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env.PATH ?? "", HOME: registry().path, TERM: "xterm", ...env },
    });
    const text = await child.stdout.text();
    expect(await child.exited).toBe(1);
    return text;
  }

  test.skipIf(!Bun.which("script"))("has colour on a terminal, and none with NO_COLOR", async () => {
    expect(await onTerminal({})).toContain("\u001b[32mgranted\u001b[0m");
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain("\u001b");
    expect((await here(ROOT)).stdout).not.toContain("\u001b");
  });

  test("does not fail if the reader goes away, but fails if the disk is full", async () => {
    const command = (rest: string) => [
      "sh",
      "-c",
      `"$0" "$1" ${ROOT} --registry-path "$2" --format json ${rest}`,
      process.execPath,
      MAIN,
      registry().path,
    ];
    const gone = Bun.spawn(command("| true"), { stdio: ["ignore", "pipe", "pipe"] });
    expect([await gone.exited, await gone.stderr.text()]).toEqual([0, ""]);
    const full = Bun.spawn(command("> /dev/full"), { stdio: ["ignore", "pipe", "pipe"] });
    expect([await full.exited, await full.stderr.text()]).toEqual([
      2,
      "formation: the answer could not be written to standard output: No space left on device (os error 28)\n",
    ]);
  });

  test("is written completely to a file and a slow pipe", async () => {
    using scratch = scratchDirectory();
    using large = testRegistry();
    const names = Array.from({ length: 2000 }, (_, index) => `local/absent-${index}`);
    await large.publish(ROOT, spawns(...names));
    const path = join(scratch.path, "out");
    const file = openSync(path, "w");
    const args = [process.execPath, MAIN, ROOT, "--registry-path", large.path, "--format", "json"];
    await Bun.spawn(args, { stdio: ["ignore", file, "ignore"] }).exited;
    closeSync(file);
    const written = readFileSync(path, "utf8");
    expect(parseFormation(written).ok).toBe(true);
    const slow = Bun.spawn(args, { stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of slow.stdout) {
      text += decoder.decode(bytes, { stream: true });
      await new Promise((turn) => setImmediate(turn));
    }
    expect(text).toBe(written);
  });
});
