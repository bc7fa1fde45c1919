/** How a session's slot is given back, and which listeners for signals are the library's. */

import { afterEach, expect, test } from "bun:test";
import { createRoostClient } from "../../../src/runtime/client.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { deregister, type Registration } from "../../../src/runtime/session/registration.ts";
import { asOwn, isLeftToProgram } from "../../../src/runtime/session/signals.ts";
import { parseRoostUrl } from "../../../src/runtime/wire.ts";
import { leasePort } from "../../kit/leased-port.ts";
import { rawServers, reply } from "../../kit/raw-server.ts";

const serve = rawServers();

function registrationAt(text: string): Registration {
  const url = parseRoostUrl(text);
  if (!url.ok) throw new Error(url.fault);
  return { client: createRoostClient(url.value), credential: new Secret("msc1.one") };
}

test("a slot that could not be given back is given back at the next try, and only once", async () => {
  await using leased = await leasePort();
  const registration = registrationAt(leased.url);
  expect((await deregister(registration, "failed")).kind).toBe("unreachable");
  const daemon = await serve(reply(200, "{}"), leased.port);
  expect((await deregister(registration, "complete")).kind).toBe("granted");
  expect((await deregister(registration, "failed")).kind).toBe("granted");
  expect(daemon.received().match(/POST \/deregister/g)).toHaveLength(1);
  expect(daemon.received()).toContain("complete");
});

test("whoever gives up waits for no answer, even to the request of another", async () => {
  const asked = Promise.withResolvers<void>();
  const daemon = await serve(() => asked.resolve());
  const registration = registrationAt(daemon.url);
  const first = deregister(registration, "failed");
  await asked.promise;
  const giveUp = new AbortController();
  const second = deregister(registration, "complete", giveUp.signal);
  giveUp.abort();
  expect(await second).toEqual({ kind: "unreachable", reason: "the request was given up" });
  await daemon.close();
  expect((await first).kind).toBe("unreachable");
});

const listeners: (() => void)[] = [];
afterEach(() => {
  for (const listener of listeners.splice(0)) process.off("SIGHUP", listener);
});

test("SIGHUP is left to a program that listens for it, and the library's own listeners are none", () => {
  const listen = (listener: () => void) => {
    process.on("SIGHUP", listener);
    listeners.push(listener);
  };
  listen(asOwn(() => {}));
  listen(asOwn(() => {}));
  expect(isLeftToProgram("SIGHUP")).toBe(false);
  listen(() => {});
  expect(isLeftToProgram("SIGHUP")).toBe(true);
  expect(isLeftToProgram("SIGTERM")).toBe(false);
});
