/** What a body costs while it arrives. */

import { heapSize } from "bun:jsc";
import { expect, test } from "bun:test";
import { readJsonBody } from "../src/json-body.ts";
import { until } from "./kit/until.ts";

/** Few: each must be sent within the 10 s that a body may take. */
const BODIES = 3;
const CHUNKS = 65_000;

/** A body that comes byte by byte, and does not end by itself. */
function trickling() {
  let sent = 0;
  let end: (error: Error) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      end = (error) => controller.error(error);
    },
    pull(controller) {
      if (sent++ < CHUNKS) controller.enqueue(new Uint8Array([0x20]));
      // The next pull waits until the body is broken off.
      else return new Promise<void>(() => {});
      return undefined;
    },
  });
  const request = new Request("http://127.0.0.1/", {
    method: "POST",
    headers: { "transfer-encoding": "chunked" },
    body,
  });
  return { reading: readJsonBody(request), isWhole: () => sent > CHUNKS, end };
}

test("a body that comes byte by byte takes no more memory than its size", async () => {
  // Twice: some of what earlier tests left is only freed then.
  Bun.gc(true);
  Bun.gc(true);
  const before = heapSize();
  const bodies = Array.from({ length: BODIES }, trickling);
  await until("all of them are held", () => bodies.every(({ isWhole }) => isWhole()));
  Bun.gc(true);
  // 64 KiB each, and room to grow.
  expect(heapSize() - before).toBeLessThan(BODIES * 4 * CHUNKS);
  for (const { end } of bodies) end(new Error("the client has gone"));
  for (const { reading } of bodies) {
    expect(await reading).toEqual({ ok: false, fault: { kind: "body-ended-early" } });
  }
});
