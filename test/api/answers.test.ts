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
