import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createTrace } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { scratch } from "./kit.ts";

function traced() {
  const path = scratch();
  const diagnosed: string[] = [];
  const trace = createTrace({
    id: "ses_1",
    directories: { records: { path } },
    clock: manualClock(1_700_000_000_000.5),
    diagnose: (line) => diagnosed.push(line),
  });
  return { file: join(path, "trace.jsonl"), diagnosed, append: () => trace({ event: "spawner_ended" }) };
}

test("an event is one line, appended to what is there", () => {
  const { file, append, diagnosed } = traced();
  append();
  append();
  const line = '{"event":"spawner_ended","at_ms":1700000000000,"session_id":"ses_1"}\n';
  expect(readFileSync(file, "utf8")).toBe(`${line}${line}`);
  expect(diagnosed).toEqual([]);
});

describe("what is no file of its own is said, and never waited for", () => {
  const said = (why: string) => [`trace.jsonl could not be appended to: ${why}`];
  const fifo = (file: string) => expect(Bun.spawnSync(["mkfifo", file]).exitCode).toBe(0);

  test("a FIFO that nobody reads", () => {
    const { file, append, diagnosed } = traced();
    fifo(file);
    append();
    expect(diagnosed).toEqual(said("No such device or address (os error 6)"));
  });

  test("a FIFO that somebody reads", () => {
    const { file, append, diagnosed } = traced();
    fifo(file);
    // Opened for both, it waits for nobody.
    const reader = Bun.spawn(["sh", "-c", 'exec 3<>"$0"; echo open; read -r line <&3; echo "$line"', file], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    return (async () => {
      const output = reader.stdout.getReader();
      await output.read();
      append();
      reader.kill();
      const rest = await output.read();
      expect(rest.done).toBe(true);
      expect(diagnosed).toEqual(said("it is not a regular file"));
    })();
  });

  test("a link, and a directory", () => {
    const link = traced();
    const elsewhere = join(scratch(), "elsewhere");
    symlinkSync(elsewhere, link.file);
    link.append();
    expect(existsSync(elsewhere)).toBe(false);
    const directory = traced();
    mkdirSync(directory.file);
    directory.append();
    expect([link.diagnosed, directory.diagnosed]).toEqual([
      [expect.stringContaining("could not be appended to")],
      said("Is a directory (os error 21)"),
    ]);
  });
});
