import { describe, expect, test } from "bun:test";
import { createStderrEcho, createStdoutRelay } from "../../../src/runtime/launch/child-output.ts";
import { Secret } from "../../../src/runtime/secret.ts";

const MIXED = `msa1.${Array.from({ length: 12 }, (_, at) => `eyJ${at}xLc${at}`).join("")}`;
const APPROVAL = `msa1.${"a".repeat(300)}.${"b".repeat(43)}`;
const OPERATOR = `op-${"c".repeat(60)}`;

function collector() {
  const chunks: Buffer[] = [];
  return {
    write: (bytes: Uint8Array) => {
      chunks.push(Buffer.from(bytes));
      return Promise.resolve();
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}

/** The bytes in every way a pipe could cut them that costs little to try. */
function* chunked(text: string, sizes: readonly number[]): Generator<Buffer[]> {
  const bytes = Buffer.from(text);
  for (const size of sizes) {
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    yield chunks;
  }
}

describe("a child's standard error", () => {
  test("is echoed line by line, with tokens redacted however the pipe cuts them", async () => {
    const text = `one\nwith ${APPROVAL} inside\r\ntwo ${OPERATOR}${APPROVAL}\nüñí\nlast`;
    for (const chunks of chunked(text, [1, 7, 100, 10_000])) {
      const out = collector();
      const echo = createStderrEcho([new Secret(APPROVAL)], out.write);
      await echo.release([new Secret(OPERATOR)]);
      for (const chunk of chunks) await echo.write(chunk);
      await echo.end();
      expect(out.text()).toBe("one\nwith <redacted> inside\ntwo <redacted><redacted>\nüñí\nlast\n");
    }
  });

  test("waits for the child's own token before anything is shown", async () => {
    const out = collector();
    const echo = createStderrEcho([new Secret(APPROVAL)], out.write);
    await echo.write(Buffer.from(`starting, token ${OPERATOR}\n`));
    expect(out.text()).toBe("");
    await echo.release([new Secret(OPERATOR)]);
    expect(out.text()).toBe("starting, token <redacted>\n");
    expect(echo.lastLines()).toEqual(["starting, token <redacted>"]);
  });

  test("is held back up to a limit, and what was left out is reported", async () => {
    const out = collector();
    const echo = createStderrEcho([], out.write);
    for (let line = 0; line < 40; line++) await echo.write(Buffer.from(`${"x".repeat(8000)}\n`));
    await echo.release([]);
    expect(out.text()).toMatch(/\[\d+ more lines before the child was ready are left out\]\n$/);
    expect(out.text().length).toBeLessThan(300 * 1024);
  });

  test("waits up to a limit while nobody takes it, and what was left out is reported", async () => {
    const out = collector();
    const reader = Promise.withResolvers<void>();
    const echo = createStderrEcho([], async (bytes) => {
      await out.write(bytes);
      await reader.promise;
    });
    await echo.release([]);
    const writing = Array.from({ length: 40 }, (_, line) =>
      echo.write(Buffer.from(`${line} ${"x".repeat(8000)}\n`)),
    );
    expect(out.text().length).toBeLessThan(10_000);
    expect(echo.lastLines().map((line) => Number.parseInt(line, 10))).toEqual(
      Array.from({ length: 20 }, (_, line) => 20 + line),
    );
    reader.resolve();
    await Promise.all(writing);
    const lines = out.text().split("\n");
    const left = /^\[(\d+) more lines that were not read in time are left out\]$/.exec(lines.at(-2) ?? "");
    expect(lines.length - 2 + Number(left?.[1])).toBe(40);
    expect(out.text().length).toBeLessThan(300 * 1024);
  });

  test("is whole if one read of the pipe brings more than that", async () => {
    const out = collector();
    const echo = createStderrEcho([], out.write);
    await echo.release([]);
    await echo.write(Buffer.from(`${"x".repeat(1000)}\n`.repeat(1000)));
    expect(out.text()).toBe(`${"x".repeat(1000)}\n`.repeat(1000));
  });

  test("of many lines is echoed a thousand at a time, and whole", async () => {
    const writes: string[] = [];
    const echo = createStderrEcho([], async (bytes) => void writes.push(Buffer.from(bytes).toString()));
    await echo.release([]);
    const lines = Array.from({ length: 2500 }, (_, line) => `${line}\n`);
    await echo.write(Buffer.from(lines.join("")));
    expect(writes.map((text) => text.split("\n").length - 1)).toEqual([1000, 1000, 500]);
    expect(writes.join("")).toBe(lines.join(""));
  });

  test("has lines of at most 8 KiB, and no part of a token remains where a line is cut", async () => {
    for (const before of [8192 - 1, 8192 - 20, 8192 - APPROVAL.length + 1, 8192 - APPROVAL.length]) {
      const out = collector();
      const echo = createStderrEcho([new Secret(APPROVAL)], out.write);
      await echo.release([]);
      const line = `${"x".repeat(before)}${APPROVAL}${"y".repeat(9000)}\n`;
      for (const [chunk] of chunked(line, [line.length])) if (chunk) await echo.write(chunk);
      await echo.write(Buffer.from("next\n"));
      expect(out.text()).not.toContain("msa1");
      expect(out.text()).not.toContain(".b");
      expect(out.text()).toEndWith("<redacted> […]\nnext\n");
    }
  });

  test("becomes one cut line if it is a flood without a line feed", async () => {
    const out = collector();
    const echo = createStderrEcho([], out.write);
    await echo.release([]);
    for (let i = 0; i < 100; i++) await echo.write(Buffer.alloc(65_536, "z"));
    await echo.write(Buffer.from("\nend\n"));
    expect(out.text()).toBe(`${"z".repeat(8192)} […]\nend\n`);
  });

  test("shows no line with a piece of a token that is split over lines or percent-encoded", async () => {
    const out = collector();
    const echo = createStderrEcho([new Secret(MIXED)], out.write);
    await echo.release([new Secret(OPERATOR)]);
    const encoded = [...OPERATOR].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("");
    await echo.write(
      Buffer.from(`${MIXED.slice(0, 40)}\n${MIXED.slice(40, 80)}\nmsc1.eyJ2Ijox\n${encoded}\n`),
    );
    expect(out.text()).toBe("<redacted>\n<redacted>\n<redacted>\n<redacted>\n");
  });

  test("has its control characters made visible, not sent to the terminal", async () => {
    const out = collector();
    const echo = createStderrEcho([], out.write);
    await echo.release([]);
    await echo.write(Buffer.from("\u001b[2J\u0007a\rb\u0085\u202egnp\u2028\u200b\t\n"));
    const shown = "\\u001b[2J\\u0007a\\u000db\\u0085\\u202egnp\\u2028\\u200b\\u0009";
    expect(out.text()).toBe(`${shown}\n`);
    expect(echo.lastLines()).toEqual([shown]);
  });

  test("has its last 20 lines remembered", async () => {
    const echo = createStderrEcho([], collector().write);
    for (let line = 1; line <= 50; line++) await echo.write(Buffer.from(`line ${line}\n`));
    await echo.write(Buffer.from("unfinished"));
    await echo.end();
    const lines = echo.lastLines();
    expect(lines).toHaveLength(20);
    expect(lines[0]).toBe("line 32");
    expect(lines[19]).toBe("unfinished");
  });
});

describe("a child's standard output", () => {
  test("has its first line kept and the rest copied, however the pipe cuts them", async () => {
    const text = `{"first":"ü"}\nsecond ${OPERATOR} ü\n\nthird\u0000\nunfinished ${APPROVAL}`;
    for (const chunks of chunked(text, [1, 5, 64, 10_000])) {
      const out = collector();
      const relay = createStdoutRelay(out.write);
      const served = (async () => {
        for (const chunk of chunks) await relay.write(chunk);
        await relay.end();
      })();
      expect(await relay.firstLine).toEqual({ kind: "line", text: '{"first":"ü"}' });
      expect(out.text()).toBe("");
      relay.copy([new Secret(OPERATOR), new Secret(APPROVAL)]);
      await served;
      // The last line gets its end, so that whoever writes next begins one of its own.
      expect(out.text()).toBe("second <redacted> ü\n\nthird\u0000\nunfinished <redacted>\n");
    }
  });

  test("has a line without an end copied in pieces that cut no token", async () => {
    const out = collector();
    const relay = createStdoutRelay(out.write);
    await relay.write(Buffer.from("{}\n"));
    relay.copy([new Secret(OPERATOR)]);
    const bytes = Buffer.from(`${"z".repeat(1024 * 1024 - 10)}${OPERATOR}`.repeat(3));
    for (let at = 0; at < bytes.length; at += 65_536) await relay.write(bytes.subarray(at, at + 65_536));
    await relay.end();
    expect(out.text()).toBe(`${`${"z".repeat(1024 * 1024 - 10)}<redacted>`.repeat(3)}\n`);
  });

  test("may have a complete first line that only the end of the pipe ends", async () => {
    const relay = createStdoutRelay(collector().write);
    for (const byte of Buffer.from('{"session_id":"ü"}')) await relay.write(Uint8Array.of(byte));
    await relay.end();
    expect(await relay.firstLine).toEqual({ kind: "line", text: '{"session_id":"ü"}' });
    for (const text of ["", "[1]", '{"session_id":"ses_1"', "hello", '"text"', "1"]) {
      const half = createStdoutRelay(collector().write);
      await half.write(Buffer.from(text));
      await half.end();
      expect(await half.firstLine).toEqual({ kind: "none" });
    }
  });

  test("is told apart if it has no first line or one without an end", async () => {
    const none = createStdoutRelay(collector().write);
    await none.write(Buffer.from("half a line"));
    await none.end();
    expect(await none.firstLine).toEqual({ kind: "none" });

    const endless = createStdoutRelay(collector().write);
    endless.discard();
    for (let i = 0; i < 10; i++) await endless.write(Buffer.alloc(65_536, "z"));
    expect(await endless.firstLine).toEqual({ kind: "too-long" });
  });

  test("slows the child down if its reader is slow", async () => {
    const { promise: taken, resolve: take } = Promise.withResolvers<void>();
    const relay = createStdoutRelay(() => taken);
    await relay.write(Buffer.from("{}\n"));
    relay.copy([]);
    let passed = false;
    const writing = relay.write(Buffer.from("more\n")).then(() => {
      passed = true;
    });
    await new Promise((turn) => setImmediate(turn));
    expect(passed).toBe(false);
    take();
    await writing;
    expect(passed).toBe(true);
  });
});
