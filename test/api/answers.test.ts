import { expect, test } from "bun:test";
import { answers, answersPosted, createRouter } from "../../src/api/elysia.ts";
import { DeregisterAnswer, HealthAnswer, RegisterAnswer } from "../../src/api/schemas.ts";
import { inProcess } from "../kit/in-process.ts";

const INTERNAL = '{"error":"the daemon failed to answer this request"}';

test("an answer that does not fit its route's schema is a fault of the daemon and is not sent", async () => {
  const daemon = inProcess("/nonexistent");
  const wrong = { credential: 7, secret: "x" } as never;
  const router = createRouter(daemon.context.log)
    .get("/health", () => wrong, answers(HealthAnswer))
    .post("/register", () => wrong, answersPosted(RegisterAnswer))
    .post("/deregister", () => ({}), answersPosted(DeregisterAnswer))
    .compile();
  const ask = async (method: string, path: string) => {
    const answer = await router.fetch(new Request(`http://127.0.0.1${path}`, { method }));
    return [answer.status, await answer.text()];
  };
  expect(await ask("GET", "/health")).toEqual([500, INTERNAL]);
  expect(await ask("POST", "/register")).toEqual([500, INTERNAL]);
  expect(daemon.logged.filter(({ event }) => event === "internal-error")).toHaveLength(2);
  expect(await ask("POST", "/deregister")).toEqual([200, "{}"]);
  expect(JSON.stringify(daemon.logged)).not.toContain("secret");
});

test("a fault of the daemon itself is logged with its kind and first frames, but not its message", async () => {
  const daemon = inProcess("/nonexistent");
  class Broken extends Error {
    override readonly name = "Broken";
  }
  const router = createRouter(daemon.context.log)
    .get("/broken", () => {
      const fail = (depth: number): never => {
        if (depth > 0) return fail(depth - 1) as never;
        throw new Broken("secret\n    at secret (secret.ts:1:1)");
      };
      return [1].map(() => fail(0))[0];
    })
    .get("/odd", () => {
      throw "secret";
    })
    .compile();
  const answer = await router.fetch(new Request("http://127.0.0.1/broken"));
  expect([answer.status, await answer.text()]).toEqual([
    500,
    '{"error":"the daemon failed to answer this request"}',
  ]);
  const [failed, request] = daemon.logged;
  expect(failed).toMatchObject({ event: "internal-error", error: "Broken" });
  // The first four.
  expect(String(failed?.frames)).toMatch(/^at fail [^;]+(; at [^;]+){3}$/);
  expect(request).toMatchObject({ event: "request", refused: "internal", path: expect.any(String) });
  expect((await router.fetch(new Request("http://127.0.0.1/odd"))).status).toBe(500);
  expect(daemon.logged[2]).toEqual({ event: "internal-error", error: "string", frames: undefined });
  expect(JSON.stringify(daemon.logged)).not.toContain("secret");
});
