import { expect, test } from "bun:test";
import { LineBuffer } from "../../src/log/line-buffer.ts";
import type { Attempt, Outlet } from "../../src/log/writer.ts";

/** An outlet that takes the listed number of bytes each time: 0 is full, "failed" a fault, the last one stays. */
function outlet(plan: (number | "failed")[]): { said: () => string; outlet: Outlet } {
  const taken: Buffer[] = [];
  return {
    said: () => Buffer.concat(taken).toString(),
    outlet: {
      chunkBytes: 64,
      write(bytes): Attempt {
        const step = plan.length > 1 ? plan.shift() : plan[0];
        if (step === "failed") return { kind: "failed" };
        if (step === 0 || step === undefined) return { kind: "full" };
        const part = Buffer.from(bytes.subarray(0, step));
        taken.push(part);
        return { kind: "taken", bytes: part.length };
      },
    },
  };
}

const told = (count: number) => `dropped ${count}\n`;

test("a write that is cut short, refused or failed continues where it stopped, in order", async () => {
  const { said, outlet: slow } = outlet([3, 0, 1, "failed", 0, 2, "failed", 5, 1000]);
  const lines = new LineBuffer(slow, told);
  const wanted = Array.from({ length: 20 }, (_, index) => `line ${index} é\n`);
  for (const line of wanted) lines.add(line);
  await lines.finish(5000);
  expect(said()).toBe(wanted.join(""));
});

test("whole lines are written where they fit, so lines of other writers do not split them", async () => {
  const chunks: string[] = [];
  const lines = new LineBuffer(
    {
      chunkBytes: 20,
      write(bytes) {
        chunks.push(Buffer.from(bytes).toString());
        return { kind: "taken", bytes: bytes.length };
      },
    },
    told,
  );
  for (const line of ["123456\n", "abcdefg\n", "ABCDEFGH\n", `${"x".repeat(30)}\n`]) lines.add(line);
  await lines.finish(5000);
  expect(chunks).toEqual(["123456\nabcdefg\n", "ABCDEFGH\n", "x".repeat(20), `${"x".repeat(10)}\n`]);
});

test("lines that do not fit are dropped whole, and their number is written before the next line", async () => {
  let open = false;
  const taken: Buffer[] = [];
  const lines = new LineBuffer(
    {
      chunkBytes: 4096,
      write(bytes) {
        if (!open) return { kind: "full" };
        taken.push(Buffer.from(bytes));
        return { kind: "taken", bytes: bytes.length };
      },
    },
    told,
  );
  const count = 5000;
  for (let index = 0; index < count; index++) lines.add(`${index} ${"x".repeat(200)}\n`);
  open = true;
  lines.add("last\n");
  await lines.finish(5000);
  const said = Buffer.concat(taken).toString().trimEnd().split("\n");
  const dropped = said.flatMap((line) => /^dropped (\d+)$/.exec(line)?.[1] ?? []).map(Number);
  const kept = said.filter((line) => /^\d+ x{200}$/.test(line)).length;
  const hasLast = said.includes("last");
  expect(dropped.length).toBeGreaterThan(0);
  expect(kept + dropped.reduce((sum, more) => sum + more, 0) + (hasLast ? 1 : 0)).toBe(count + 1);
});

test("a slow outlet gets one write at a time, and the end waits for it only so long", async () => {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  let asked = 0;
  const write = () => {
    asked++;
    return promise;
  };
  const lines = new LineBuffer({ chunkBytes: 4096, write }, told);
  lines.add("one\n");
  await lines.finish(20);
  lines.add("two\n");
  lines.flush();
  expect(asked).toBe(1);
  resolve({ kind: "taken", bytes: 4 });
});
