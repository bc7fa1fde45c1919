import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseRunningRecord, readRunningRecords } from "../../src/census/running-records.ts";
import { atOnce } from "../../src/slices.ts";
import { openFiles } from "../kit/folders.ts";
import { recordOf } from "../kit/records.ts";

const parse = (value: unknown) => parseRunningRecord(Buffer.from(JSON.stringify(value)));
const whole = recordOf({ session_id: "ses_a", pid: 7, process_start: "99" });

describe("a running record", () => {
  test("yields its session and its process, and nothing of its tokens", () => {
    const record = parse({
      ...whole,
      door_token: "secret",
      credentials: { a: "secret" },
      unknown: { any: 1 },
    });
    expect(record).toEqual({ sessionId: "ses_a", pid: 7, startToken: "99" });
  });

  test("may omit optional keys, or set them to null", () => {
    const { url, ...rest } = whole;
    expect(url).toBeString();
    expect(parse(rest)).toBeDefined();
    expect(
      parse({ ...rest, url: "", formation_id: null, formation_launcher: null, spawned_by: { x: 1 } }),
    ).toBeDefined();
    expect(
      parse({
        ...rest,
        formation_id: `frm_${"0".repeat(32)}`,
        formation_launcher: { pid: 1, process_start: "" },
      }),
    ).toBeDefined();
    expect(parse({ ...rest, process_start: "", pid: 4_294_967_295 })).toBeDefined();
  });

  test.each(Object.keys(whole).filter((key) => key !== "url"))("without %s is unreadable", (key) => {
    const { [key]: _, ...rest } = whole as Record<string, unknown>;
    expect(parse(rest)).toBeUndefined();
  });

  test.each([
    ["session_id", 1],
    ["session_id", ""],
    ["session_id", "a/b"],
    ["process_start", 99],
    ["capsule_name", null],
    ["pid", "7"],
    ["pid", 1.5],
    ["pid", -1],
    ["pid", 4_294_967_296],
    ["outlives_launcher", "false"],
    ["url", 1],
    ["door_token", {}],
    ["credentials", []],
    ["credentials", { a: 1 }],
    ["formation_id", "frm_x"],
    ["formation_id", `frm_${"A".repeat(32)}`],
    ["formation_launcher", {}],
    ["formation_launcher", { pid: "1", process_start: "" }],
  ])("with %s as %j is unreadable", (key, value) => {
    expect(parse({ ...whole, [key]: value })).toBeUndefined();
  });

  test.each(["", "{", "null", "[]", '"x"', "1"])("that is %j is unreadable", (text) => {
    expect(parseRunningRecord(Buffer.from(text))).toBeUndefined();
  });

  test("that begins with a byte order mark is unreadable, because JSON has none", () => {
    expect(parseRunningRecord(Buffer.from(`\ufeff${JSON.stringify(whole)}`))).toBeUndefined();
  });

  test("that is not UTF-8 is unreadable", () => {
    const bytes = Buffer.from(JSON.stringify({ ...whole, workdir: "xx" }).replace("xx", "\u00ff"), "latin1");
    expect(parseRunningRecord(bytes)).toBeUndefined();
  });
});

describe("the running directory", () => {
  test("that is missing means that nothing runs", () => {
    expect(atOnce(readRunningRecords("/nonexistent/running"))).toEqual({
      ok: true,
      records: [],
      unreadable: 0,
    });
  });

  test("that cannot be listed is reported with its path and the OS error", () => {
    expect(atOnce(readRunningRecords("/dev/null"))).toEqual({
      ok: false,
      fault: "/dev/null: Not a directory (os error 20)",
    });
  });

  test("that is a dangling link is not treated as missing", () => {
    const directory = mkdtempSync(join(tmpdir(), "mur-roost-running-"));
    try {
      symlinkSync("nowhere", join(directory, "link"));
      mkdirSync(join(directory, "there"));
      symlinkSync("there", join(directory, "whole"));
      for (const path of ["link", "link/running", "link/.murmur/running"]) {
        const fault = `${directory}/${path}: No such file or directory (os error 2)`;
        expect(atOnce(readRunningRecords(`${directory}/${path}`))).toEqual({ ok: false, fault });
      }
      for (const path of ["other", "there/a/b", "whole/a/b"]) {
        expect(atOnce(readRunningRecords(`${directory}/${path}`))).toMatchObject({ ok: true });
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("is read without leaving a file open, whatever it contains", () => {
    const directory = mkdtempSync(join(tmpdir(), "mur-roost-running-"));
    try {
      for (let count = 0; count < 40; count++) {
        writeFileSync(join(directory, `${count}.json`), count % 2 ? JSON.stringify(whole) : "{");
        symlinkSync("0.json", join(directory, `link-${count}.json`));
      }
      const before = openFiles();
      expect(atOnce(readRunningRecords(directory))).toMatchObject({ ok: true, unreadable: 60 });
      expect(openFiles()).toBeLessThan(before + 10);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test.if(process.platform === "linux")("is read to its end, whatever bytes its names are", () => {
    const directory = mkdtempSync(join(tmpdir(), "mur-roost-running-"));
    try {
      // Not UTF-8, twice alike as text; a lone surrogate's bytes; two that are only an ending; and none.
      const names = ["\xff.json", "\xfe.json", "a\xed\xa0\x80.json", "\n.json", ".json", "json"];
      for (const name of names) {
        writeFileSync(Buffer.from(`${directory}/${name}`, "latin1"), JSON.stringify(whole));
      }
      const reading = atOnce(readRunningRecords(directory));
      expect(reading).toMatchObject({ ok: true, unreadable: 0 });
      expect(reading.ok && reading.records).toHaveLength(5);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("holds records only in regular .json files, and no other file blocks reading", () => {
    const directory = mkdtempSync(join(tmpdir(), "mur-roost-running-"));
    try {
      const text = JSON.stringify(whole);
      writeFileSync(join(directory, "a.json"), text);
      writeFileSync(join(directory, "b.JSON"), text);
      writeFileSync(join(directory, "c.json.tmp"), text);
      writeFileSync(join(directory, "large.json"), text.padEnd(1024 * 1024 + 1));
      writeFileSync(join(directory, "fits.json"), text.padEnd(1024 * 1024));
      mkdirSync(join(directory, "directory.json"));
      writeFileSync(join(directory, "directory.json", "nested.json"), text);
      symlinkSync("a.json", join(directory, "link.json"));
      Bun.spawnSync(["mkfifo", join(directory, "fifo.json")]);
      const reading = atOnce(readRunningRecords(directory));
      expect(reading).toMatchObject({ ok: true, unreadable: 4 });
      expect(reading.ok && reading.records).toHaveLength(2);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
