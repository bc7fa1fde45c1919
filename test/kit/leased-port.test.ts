import { expect, test } from "bun:test";
import { leasePort } from "./leased-port.ts";

test("ports leased at once are all different, free, and below the range that the system assigns", async () => {
  await using leases = new AsyncDisposableStack();
  const leased = await Promise.all(Array.from({ length: 50 }, leasePort));
  for (const lease of leased) leases.use(lease);
  const ports = leased.map(({ port }) => port);
  expect(new Set(ports).size).toBe(ports.length);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  for (const port of ports) {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
  }
});

test("nothing listens on a leased port", async () => {
  await using nobody = await leasePort();
  await expect(fetch(nobody.url)).rejects.toThrow();
});
