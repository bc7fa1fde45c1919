/** What a formation passes to a member, with descriptors that are open in this very process. */

import { afterEach, describe, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { checkFormationEnds, readFormationId } from "../../../src/runtime/contract/formation.ts";
import { openPipe } from "../../../src/sys/descriptors.ts";

const member = readFormationId({ MURMUR_FORMATION_ID: `frm_${"0".repeat(32)}` });
if (!member.ok) throw new Error("no formation id");
const formation = member.value;

const open = new Set<number>();
afterEach(() => {
  for (const descriptor of open) closeSync(descriptor);
  open.clear();
});

function file(path: string, flags: string): number {
  const descriptor = openSync(path, flags);
  open.add(descriptor);
  return descriptor;
}

function pipe(): { readEnd: number; writeEnd: number } {
  const made = openPipe();
  if (!made.ok) throw new Error(made.fault);
  open.add(made.value.readEnd).add(made.value.writeEnd);
  return made.value;
}

function refusalOf(environment: Record<string, string>, where: "member" | "alone" = "member"): string {
  const checked = checkFormationEnds(environment, where === "member" ? formation : undefined);
  if (checked.ok) return "it is taken";
  expect(checked.fault.code).toBe("E-RUN-046");
  return checked.fault.message;
}

/** A number that no descriptor has. */
const CLOSED = "999999";

test("a process in no formation, and a member with everything it needs, are accepted", () => {
  const { readEnd, writeEnd } = pipe();
  const channel = pipe();
  writeSync(channel.writeEnd, "tokens");
  const ends = {
    MURMUR_FORMATION_LIFELINE: ` ${readEnd} `,
    MURMUR_FORMATION_CHANNEL: String(channel.readEnd),
  };
  expect(refusalOf({}, "alone")).toBe("it is taken");
  expect(refusalOf({ MURMUR_FORMATION_LIFELINE: "  " }, "alone")).toBe("it is taken");
  expect(refusalOf(ends)).toBe("it is taken");
  expect(refusalOf({ MURMUR_FORMATION_CHANNEL: String(file("/dev/null", "r")) })).toBe("it is taken");
  // The channel's contents are still in it.
  const rest = Buffer.alloc(16);
  expect(rest.toString("utf8", 0, readSync(channel.readEnd, rest))).toBe("tokens");
  expect(writeEnd).toBeGreaterThan(2);
});

test("the descriptors are not inherited by programs that this process starts", () => {
  if (process.platform !== "linux") return;
  const lifeline = pipe();
  const channel = file("/dev/null", "r");
  expect(
    refusalOf({
      MURMUR_FORMATION_LIFELINE: String(lifeline.readEnd),
      MURMUR_FORMATION_CHANNEL: String(channel),
    }),
  ).toBe("it is taken");
  for (const descriptor of [lifeline.readEnd, channel]) {
    const flags = /flags:\s*([0-7]+)/.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    expect(Number.parseInt(flags ?? "0", 8) & 0o2000000).toBe(0o2000000);
  }
});

describe("MURMUR_FORMATION_PEERS", () => {
  test.each(["a=http://a.formation.invalid", " ", ""])("set to %j is refused", (value) => {
    expect(refusalOf({ MURMUR_FORMATION_PEERS: value })).toContain("MURMUR_FORMATION_PEERS");
    expect(refusalOf({ MURMUR_FORMATION_PEERS: value }, "alone")).toContain("unset it");
  });
});

describe("MURMUR_FORMATION_LIFELINE", () => {
  const lifeline = (value: string | number) => refusalOf({ MURMUR_FORMATION_LIFELINE: String(value) });

  test("is refused without a formation, even if it is a lifeline", () => {
    const set = { MURMUR_FORMATION_LIFELINE: String(pipe().readEnd) };
    expect(refusalOf(set, "alone")).toContain("is set without MURMUR_FORMATION_ID");
  });

  test("is refused unless it is a pipe's read end numbered 3 or above", () => {
    for (const value of ["0", "2", "-3", "x", "3x", "0x3", "1e1", "3.0"]) {
      expect(lifeline(value)).toContain("it is not a number of 3 or above");
    }
    expect(lifeline(CLOSED)).toContain("is not open");
    expect(lifeline(pipe().writeEnd)).toContain("is not the read end");
    expect(lifeline(file("/dev/null", "r"))).toContain("is not a pipe");
    expect(lifeline(file("/proc/self/status", "r"))).toContain("is not a pipe");
  });
});

describe("MURMUR_FORMATION_CHANNEL", () => {
  const channel = (value: string | number) => refusalOf({ MURMUR_FORMATION_CHANNEL: String(value) });

  test("is refused if nothing can be read from what it names", () => {
    for (const value of ["", " ", "-1", "x", "3x"]) {
      expect(channel(value)).toContain("it is not a descriptor's number");
    }
    expect(channel(CLOSED)).toContain(`descriptor ${CLOSED} is not open`);
    expect(channel(pipe().writeEnd)).toContain("cannot be read");
    expect(channel(file("/dev/null", "w"))).toContain("cannot be read");
    expect(channel(file("/", "r"))).toContain("cannot be read");
  });
});
