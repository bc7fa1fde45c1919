/** A launch that fails shows no token of its child, whatever is wrong with the line that named it. */

import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { LaunchFailure, LaunchOutcome } from "../../../src/runtime/index.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { until } from "../../kit/until.ts";
import { PRELUDE, STAY, writeChild } from "../delegation/shell-child.ts";
import { type LaunchHow, sharedParent } from "../parent.ts";

const { world, parent } = sharedParent();
beforeEach(() => parent().forget());

const TOKEN = "5f0c9d1e8b7a4c36b1e2f3a4d5c6b7a8";
const SAYS_IT = `echo "my door's token is ${TOKEN}" >&2`;
const REDACTED = "my door's token is <redacted>";

/** The space counts as a piece of a token with a space in it. */
const ONLY_REDACTED = /^(?:my door's token is ?<redacted>\n?)+$/;

const lineOf = (fields: object) => JSON.stringify({ session_id: "ses_1", url: "", ...fields });
const printed = (line: string) => `printf '%s\\n' '${line}'`;

/** Launches a child that does as `lines` say. */
function launched(lines: readonly string[], how: LaunchHow = {}): Promise<LaunchOutcome> {
  const binary = writeChild(world().home, "teller", ...PRELUDE, ...lines);
  return parent().launch("", { environment: { MURMUR_MUR_BINARY: binary }, ...how });
}

function failureOf(outcome: LaunchOutcome): LaunchFailure {
  if (outcome.kind !== "failed") throw new Error(outcome.kind);
  return outcome.failure;
}

describe("the token of a child is redacted if its first line", () => {
  const tokens = { operator: TOKEN };
  test.each<[string, LaunchFailure["cause"], () => object]>([
    ["names no usable door", "bad-door", () => ({ tokens, url: "localhost:80" })],
    ["names no session", "no-session-id", () => ({ tokens, session_id: "" })],
    ["has the token as its session's id", "no-session-id", () => ({ tokens, session_id: TOKEN })],
    ["names its parent's session", "taken-session-id", () => ({ tokens, session_id: parent().session.id })],
    ["has a line feed after the token", "bad-token", () => ({ tokens: { operator: `${TOKEN}\n` } })],
    ["has a header's words before it", "bad-token", () => ({ tokens: { operator: `Bearer ${TOKEN}` } })],
    [
      "has such a token in its session's id",
      "bad-token",
      () => ({ tokens: { operator: `${TOKEN}\n` }, session_id: `ses_${TOKEN}` }),
    ],
  ])("%s", async (_, cause, fields) => {
    const reported: string[] = [];
    const onReported = ({ sessionId }: { readonly sessionId: string }) => reported.push(sessionId);
    // Before the line and after it.
    const lines = [SAYS_IT, printed(lineOf(fields())), SAYS_IT, STAY];
    const failure = failureOf(await launched(lines, { onReported }));
    expect(failure.cause).toBe(cause);
    expect(failure.lastLines?.join("\n")).toMatch(ONLY_REDACTED);
    await until("it is echoed", () => ONLY_REDACTED.test(parent().written()));
    expect(parent().written() + JSON.stringify([failure, reported])).not.toContain(TOKEN);
  });

  test("names a token of one letter", async () => {
    const line = lineOf({ url: "localhost:80", tokens: { operator: "o" } });
    const failure = failureOf(await launched(["echo to door >&2", printed(line), STAY]));
    expect(failure.lastLines).toEqual(["t* d**r"]);
    expect(failure.message).toStartWith("could not launch local/worker@0.1.0: ");
  });
});

describe("the token of a child that says its first line when it is told to end is redacted", () => {
  const says = `ready() { ${printed(lineOf({ tokens: { operator: TOKEN } }))}; exit 0; }`;
  /** Launches one, and waits until it waits. */
  async function waiting(name: string, how: LaunchHow) {
    const marker = join(world().home, name);
    const launching = launched([says, "trap ready TERM", SAYS_IT, `: > '${marker}'`, STAY], how);
    await until("it waits", () => existsSync(marker));
    return { launching };
  }
  async function expectRedacted() {
    await until("its words are echoed", () => parent().written() !== "");
    expect(parent().written()).toBe(`${REDACTED}\n`);
  }

  test("if its launch was given up", async () => {
    const giveUp = new AbortController();
    const { launching } = await waiting("given-up", { signal: giveUp.signal });
    giveUp.abort();
    expect(failureOf(await launching).cause).toBe("canceled");
    await expectRedacted();
  });

  test("if it took too long", async () => {
    const clock = manualClock(Date.now());
    const { launching } = await waiting("too-long", { clock });
    await clock.advance(180_000);
    const failure = failureOf(await launching);
    expect(failure).toMatchObject({ cause: "silent", lastLines: [REDACTED] });
    await expectRedacted();
  });
});
