import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTrace, traceSessionEnd, traceSessionStart } from "../../../src/runtime/index.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { coordinates } from "../parent.ts";
import { hold, scratch } from "./kit.ts";

function traced() {
  const path = join(scratch(), "records");
  mkdirSync(path);
  const diagnosed: string[] = [];
  const records = holdDirectory(path, hold(path));
  const session = {
    id: "ses_1",
    directories: { records },
    clock: manualClock(1_700_000_000_000.5),
    diagnose: (line: string) => void diagnosed.push(line),
  };
  const trace = createTrace(session);
  return {
    path,
    file: join(path, "trace.jsonl"),
    session,
    records,
    diagnosed,
    trace,
    append: () => trace({ event: "spawner_ended" }),
  };
}

const LINE = '{"event":"spawner_ended","at_ms":1700000000000,"session_id":"ses_1"}\n';

test("an event is one line that is appended to the file", async () => {
  const { file, append, diagnosed } = traced();
  const before = openFiles();
  append();
  append();
  expect(readFileSync(file, "utf8")).toBe(`${LINE}${LINE}`);
  expect(diagnosed).toEqual([]);
  await noMoreFilesThan(before);
});

test("a line shows no token and no invisible character", () => {
  const { file, trace } = traced();
  const reason = "it said msa1.eyJ2IjoxfQ.bWFj\u202e\u200b\n\\\u2028 😀 é";
  trace({ event: "task_continued", task_id: reason, delegations: [reason] });
  const [line = "", ...more] = readFileSync(file, "utf8").split("\n");
  expect(more).toEqual([""]);
  expect(line).toContain('"it said <redacted>\\u202e\\u200b\\n\\\\\\u2028 😀 é"');
  const shown = reason.replace("msa1.eyJ2IjoxfQ.bWFj", "<redacted>");
  expect(JSON.parse(line)).toMatchObject({ task_id: shown, delegations: [shown] });
});

test("a session's first and last line can be written by any runtime", () => {
  const { file, session } = traced();
  const run = { ...coordinates("local/worker"), parentWorkdir: { source: "/project", files: 2 } };
  const definition = { name: "delegate-task", description: "", input_schema: {} };
  traceSessionStart({ ...session, run, delegateTask: { definition } }, ["read-file"]);
  traceSessionStart({ ...session, run: { ...run, parentWorkdir: undefined }, delegateTask: undefined });
  traceSessionEnd(session, "canceled");
  const own = { at_ms: 1_700_000_000_000, session_id: "ses_1" };
  const start = { event: "session_start", ...own, capsule: "worker", version: "0.1.0" };
  expect(
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    {
      ...start,
      tools_declared: ["read-file", "delegate-task"],
      effective_grants: { parent_workdir: { source: "/project", files: 2 } },
    },
    { ...start, tools_declared: [], effective_grants: {} },
    { event: "session_end", ...own, exit_status: "canceled" },
  ]);
});

describe("events go into the records directory that is held", () => {
  test("even when a link has replaced its name", () => {
    const { path, append, diagnosed } = traced();
    append();
    const elsewhere = scratch();
    renameSync(path, `${path}-moved`);
    symlinkSync(elsewhere, path);
    append();
    expect(readFileSync(join(`${path}-moved`, "trace.jsonl"), "utf8")).toBe(`${LINE}${LINE}`);
    expect(existsSync(join(elsewhere, "trace.jsonl"))).toBe(false);
    expect(diagnosed).toEqual([]);
  });

  test("and nowhere once it was closed, even if its descriptor number is in use again", async () => {
    const { path, append, records, diagnosed } = traced();
    const { descriptor } = records;
    records.close();
    const other = scratch();
    // Something else in this process may have that number for a moment.
    const taken: number[] = [];
    await until("one of them has its number", () => {
      taken.push(hold(other));
      return taken.includes(descriptor);
    });
    append();
    for (const one of taken) close(one);
    expect(existsSync(join(other, "trace.jsonl"))).toBe(false);
    expect(existsSync(join(path, "trace.jsonl"))).toBe(false);
    expect(diagnosed).toEqual([said("Bad file descriptor (os error 9)")]);
  });
});

function said(why: string): string {
  return `trace.jsonl could not be appended to, its lines are lost: ${why}`;
}

describe("a trace that is not the session's own file is reported once and never waited for", () => {
  const fifo = (file: string) => expect(Bun.spawnSync(["mkfifo", file]).exitCode).toBe(0);

  test("if it is a FIFO that nobody reads", () => {
    const { file, append, diagnosed } = traced();
    fifo(file);
    append();
    append();
    expect(diagnosed).toEqual([said("it is not a regular file")]);
  });

  test("if it is a FIFO that somebody reads", () => {
    const { file, append, diagnosed } = traced();
    fifo(file);
    // A FIFO that is opened for reading and writing does not block.
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
      expect(diagnosed).toEqual([said("it is not a regular file")]);
    })();
  });

  test("if it is a link or a directory", () => {
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
      [said("Is a directory (os error 21)")],
    ]);
  });
});

describe("a line that was torn", () => {
  test("does not spoil the next line", () => {
    const { file, append } = traced();
    writeFileSync(file, `${LINE}{"event":"task_cont`);
    append();
    append();
    expect(readFileSync(file, "utf8")).toBe(`${LINE}{"event":"task_cont\n${LINE}${LINE}`);
  });

  test("by a full disk is reported once, until lines can be written again", async () => {
    const folder = scratch();
    // A limit on the size of files stands in for the disk: a write stops at it, and the next one fails.
    const program = Bun.spawn(
      ["sh", "-c", 'trap "" XFSZ; exec "$0" "$1" "$2"', process.execPath, PROGRAM, folder],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    expect(JSON.parse(await new Response(program.stdout).text())).toEqual([
      said("File too large (os error 27)"),
      said("File too large (os error 27)"),
    ]);
    const lines = readFileSync(join(folder, "trace.jsonl"), "utf8").split("\n");
    expect(lines.pop()).toBe("");
    const whole = lines.filter((line) => line.endsWith("}"));
    expect(whole.map((line) => JSON.parse(line).task_id)).toEqual(["first", "after", "last"]);
    // What is left of the lost lines is on a line of its own.
    expect(lines).toHaveLength(5);
  });
});

const PROGRAM = join(import.meta.dir, "full-disk-program.ts");

test("a spawner that ends after the session's last line leaves none", () => {
  const { file, session, append } = traced();
  append();
  traceSessionEnd(session, "ok");
  const whole = readFileSync(file, "utf8");
  append();
  expect(readFileSync(file, "utf8")).toBe(whole);
  expect(whole.trim().split("\n")).toHaveLength(2);
});
