/** Clients that send requests without waiting are disconnected after a few, and others are answered. */

import { expect, test } from "bun:test";
import { sharedDaemon } from "../kit/family.ts";
import { connectRaw, requestBytes } from "../kit/raw-http.ts";

const daemon = sharedDaemon(["--max-live-capsules", "100", "--max-concurrent", "100"]);

const CONNECTIONS = 100;
const AHEAD = requestBytes({ path: "/health" }).repeat(2000);
/** What one connection may be answered before it is noticed. */
const ANSWERED = 16;

test("a hundred of them are disconnected, and another client is answered meanwhile", async () => {
  const credential = await daemon().caller.credential("ses_root", "local/parent");
  const floods = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(daemon().port)));
  try {
    for (const flood of floods) flood.send(AHEAD);
    for (let count = 0; count < 10; count++) {
      expect(await daemon().caller.send("/health")).toEqual({ status: 200, text: "{}", json: {} });
      expect((await daemon().caller.spawn(credential, "local/child")).status).toBe(200);
    }
    await Promise.all(floods.map((flood) => flood.ending()));
    for (const flood of floods) {
      expect(flood.rest().split("HTTP/1.1 200").length - 1).toBeLessThanOrEqual(ANSWERED);
    }
  } finally {
    for (const flood of floods) flood.close();
  }
});
