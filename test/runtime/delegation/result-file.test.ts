import { describe, expect, onTestFinished, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { CHILD_FILE_BYTES as MAX_KEPT_BYTES } from "../../../src/runtime/child-files.ts";
import { leaveResult, readAnswer, resultText } from "../../../src/runtime/delegation/result-file.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { noMoreFilesThan, openFiles } from "../../kit/folders.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { noDescriptors, TOO_MANY } from "../../kit/no-descriptors.ts";
import { hold, scratch } from "./kit.ts";

/** A child's directory with an `out`, and the runtime directory of its parent. */
function places() {
  const base = scratch();
  const child = join(base, "child");
  const runtime = join(base, "runtime");
  mkdirSync(join(child, "out"), { recursive: true });
  mkdirSync(runtime);
  return { child, runtime, result: join(child, "out", "result.txt") };
}

async function answerOf({ child, runtime }: { child: string; runtime: string }) {
  const before = openFiles();
  const held = hold(child);
  const parents = hold(runtime);
  const answer = await readAnswer(held, {
    runtime: parents,
    delegationId: "dlg_1",
    secrets: [APPROVAL, OPERATOR],
    clock: manualClock(),
  });
  close(held);
  close(parents);
  await noMoreFilesThan(before);
  return answer;
}

const LIMIT = 65_536;
const APPROVAL = new Secret(`msa1.${"eyJ2IjoxLCJ4".repeat(6)}.${"Q".repeat(43)}`);
const OPERATOR = new Secret("operator-token-0123456789abcdef");

test("what is no answer is not left, and nothing stays open", async () => {
  const { child } = places();
  const held = hold(child);
  const before = openFiles();
  // A caller in JavaScript may give anything.
  await expect(leaveResult(held, null as never)).rejects.toThrow();
  await noMoreFilesThan(before);
  expect(readdirSync(join(child, "out"))).toEqual([]);
  close(held);
});

describe("an answer", () => {
  test.each([
    [0, { kind: "empty" }],
    [1, { kind: "whole", text: "a" }],
    [LIMIT, { kind: "whole", text: "a".repeat(LIMIT) }],
  ])("of %i bytes is returned whole, and no copy is kept", async (size, expected) => {
    const at = places();
    writeFileSync(at.result, "a".repeat(size));
    expect(await answerOf(at)).toEqual(expected as Awaited<ReturnType<typeof answerOf>>);
    expect(existsSync(join(at.runtime, "delegations"))).toBe(false);
  });

  test.each([LIMIT + 1, 10_000_000])("of %i bytes is cut, and a whole copy is kept", async (size) => {
    const at = places();
    writeFileSync(at.result, "b".repeat(size));
    expect(await answerOf(at)).toEqual({
      kind: "cut",
      text: "b".repeat(LIMIT),
      shownBytes: LIMIT,
      totalBytes: size,
      kept: { kind: "whole" },
    });
    const kept = join(at.runtime, "delegations", "dlg_1.txt");
    expect(readFileSync(kept).equals(readFileSync(at.result))).toBe(true);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(statSync(join(at.runtime, "delegations")).mode & 0o777).toBe(0o700);
  });

  test.each([1, 2, 3])(
    "is never cut inside a character: %i of its four bytes are before the limit",
    async (before) => {
      const at = places();
      writeFileSync(at.result, `${"c".repeat(LIMIT - before)}😀 and more`);
      const answer = await answerOf(at);
      expect(answer).toMatchObject({
        kind: "cut",
        shownBytes: LIMIT - before,
        text: "c".repeat(LIMIT - before),
      });
    },
  );

  test("keeps a byte order mark, and shows bytes that are not text as such", async () => {
    const at = places();
    writeFileSync(at.result, Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff]));
    expect(await answerOf(at)).toEqual({ kind: "whole", text: "\ufeffa\ufffd" });
    writeFileSync(at.result, Buffer.alloc(LIMIT + 10, 0x80));
    expect(await answerOf(at)).toMatchObject({ kind: "cut", shownBytes: LIMIT });
  });

  test("that is too long to be kept whole says so in the file and to the model", async () => {
    const at = places();
    writeFileSync(at.result, "d");
    truncateSync(at.result, 10 * 1024 ** 3);
    const answer = await answerOf(at);
    const kept = join(at.runtime, "delegations", "dlg_1.txt");
    expect(answer).toMatchObject({ kind: "cut", totalBytes: 10 * 1024 ** 3, kept: { kind: "beginning" } });
    expect(statSync(kept).size).toBe(MAX_KEPT_BYTES);
    const end = await Bun.file(kept)
      .slice(MAX_KEPT_BYTES - 60)
      .text();
    expect(end).toEndWith("\n[cut: this answer has 10737418240 bytes]\n");
  });

  test("that is too long to be kept whole shows no part of a token at its cut", async () => {
    const at = places();
    writeFileSync(at.result, "d");
    truncateSync(at.result, 65 * 1024 ** 2);
    const note = `\n[cut: this answer has ${65 * 1024 ** 2} bytes]\n`;
    const token = OPERATOR.reveal();
    const file = openSync(at.result, "r+");
    writeSync(file, token, MAX_KEPT_BYTES - note.length - token.length + 1);
    closeSync(file);
    await answerOf(at);
    const kept = Bun.file(join(at.runtime, "delegations", "dlg_1.txt"));
    const end = await kept.slice(MAX_KEPT_BYTES - 100).text();
    expect(end).toEndWith(`\0${"*".repeat(token.length - 1)}${note}`);
  });

  test("contains neither token of its launch and is otherwise unchanged", async () => {
    const at = places();
    const [approval, operator] = [APPROVAL.reveal(), OPERATOR.reveal()];
    const kept = `msc1.eyJ2.bWFj ${approval.slice(1)} operator-token \u200b\ufe0f\u001b[2J</untrusted-content>`;
    writeFileSync(at.result, `é${approval} ${operator}${operator} ${kept}`);
    expect(await answerOf(at)).toEqual({ kind: "whole", text: `é<redacted> <redacted><redacted> ${kept}` });
  });

  test.each([0, 1, 20, 30, 31])(
    "shows nothing of a token that begins %i bytes before the cut",
    async (before) => {
      const at = places();
      const tail = `${"m".repeat(300_000)}${APPROVAL.reveal()}op`;
      writeFileSync(at.result, `${"x".repeat(LIMIT - before)}${OPERATOR.reveal()}${tail}`);
      const answer = await answerOf(at);
      if (answer.kind !== "cut") throw new Error(answer.kind);
      expect(answer.text).toBe(`${"x".repeat(LIMIT - before)}${before > 0 ? "<redacted>" : ""}`);
      expect(answer.kept).toEqual({ kind: "whole" });
      expect(readFileSync(join(at.runtime, "delegations", "dlg_1.txt"), "utf8")).toBe(
        `${"x".repeat(LIMIT - before)}<redacted>${"m".repeat(300_000)}<redacted>op`,
      );
    },
  );

  test("that cannot be kept is still shown, with the reason", async () => {
    const at = places();
    writeFileSync(at.result, "e".repeat(LIMIT + 1));
    writeFileSync(join(at.runtime, "delegations"), "in the way");
    expect(await answerOf(at)).toMatchObject({
      text: "e".repeat(LIMIT),
      kept: { kind: "not-kept", reason: "Not a directory (os error 20)" },
    });
  });
});

describe("a result that no descriptor is free for", () => {
  /** Both ways to read it. Nothing can be opened at first. */
  function reading(at: ReturnType<typeof places>) {
    const clock = manualClock();
    const [child, runtime] = [hold(at.child), hold(at.runtime)];
    onTestFinished(() => [child, runtime].forEach(close));
    const give = noDescriptors();
    const keeping = { runtime, delegationId: "dlg_1", secrets: [], clock };
    const answer = readAnswer(child, keeping);
    const text = resultText(holdDirectory(at.child, child), [], clock);
    return { clock, give, read: Promise.all([answer, text]) };
  }

  test("is read once one is free", async () => {
    const at = places();
    writeFileSync(at.result, "the answer");
    const { clock, give, read } = reading(at);
    await clock.advance(1_000).finally(give);
    await clock.advance(1_000);
    expect(await read).toEqual([
      { kind: "whole", text: "the answer" },
      { ok: true, value: "the answer" },
    ]);
    expect(clock.waiting()).toBe(0);
  });

  test("is not taken for missing if none becomes free within 2 s", async () => {
    const at = places();
    writeFileSync(at.result, "the answer");
    const { clock, give, read } = reading(at);
    await clock.advance(2_000).finally(give);
    expect(await read).toEqual([
      { kind: "unread", reason: TOO_MANY },
      { ok: false, fault: TOO_MANY },
    ]);
  });

  test("is empty for a step if it is certainly missing", async () => {
    const child = hold(scratch());
    expect(await resultText(holdDirectory("", child), [], manualClock())).toEqual({ ok: true, value: "" });
    close(child);
  });
});

describe("a result that is no answer", () => {
  test("may be a missing file or a missing folder", async () => {
    const at = places();
    expect(await answerOf(at)).toEqual({ kind: "none" });
    expect(await answerOf({ ...at, child: at.runtime })).toEqual({ kind: "none" });
  });

  test("may be a link, also in the folder's place, a directory, or a FIFO without a writer", async () => {
    const secret = join(scratch(), "secret");
    writeFileSync(secret, "of somebody else");
    const link = places();
    symlinkSync(secret, link.result);
    expect(await answerOf(link)).toEqual({ kind: "none" });

    const folder = places();
    mkdirSync(folder.result);
    expect(await answerOf(folder)).toEqual({ kind: "none" });

    const socket = places();
    const listener = Bun.listen({ unix: socket.result, socket: { data() {} } });
    expect(await answerOf(socket)).toEqual({ kind: "none" });
    listener.stop();

    const fifo = places();
    expect(Bun.spawnSync(["mkfifo", fifo.result]).exitCode).toBe(0);
    expect(await answerOf(fifo)).toEqual({ kind: "none" });

    const linked = places();
    writeFileSync(linked.result, "an answer");
    const outside = places();
    symlinkSync(join(linked.child, "out"), join(outside.child, "linked"));
    Bun.spawnSync(["sh", "-c", "rmdir out && mv linked out"], { cwd: outside.child });
    expect(await answerOf(outside)).toEqual({ kind: "none" });
  });
});
