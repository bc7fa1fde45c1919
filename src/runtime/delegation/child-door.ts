/** The door of a delegated capsule: A2A on a free loopback port. */

import { Elysia } from "elysia";
import type { Secret } from "../secret.ts";
import { type DoorUrl, parseDoorUrl } from "../wire.ts";
import { type RpcAnswer, type RpcRequest, readRequest, rpcResponse } from "./a2a.ts";
import type { CompletionDoor } from "./door.ts";
import { completionPlugin } from "./door-plugin.ts";
import { refuseForeign } from "./loopback-only.ts";

export interface ChildDoorOptions {
  /** Every caller must present this token. */
  readonly operatorToken?: Secret;
  /** Set if the capsule itself delegates. */
  readonly completions?: CompletionDoor;
  readonly answer: (request: RpcRequest) => RpcAnswer;
  /** Called once an answer has gone out. */
  readonly onAnswered: () => void;
}

export interface ChildDoor {
  readonly url: DoorUrl;
  stop(): Promise<void>;
}

export function openChildDoor({
  operatorToken,
  completions,
  answer,
  onAnswered,
}: ChildDoorOptions): ChildDoor {
  const app = new Elysia().onRequest(({ request }) => refuseForeign(request));
  if (completions) app.use(completionPlugin(completions));
  app
    .onRequest(({ request }) => {
      if (!operatorToken) return undefined;
      const given = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
      const isOperator = given !== undefined && operatorToken.matches(given);
      return isOperator ? undefined : new Response(null, { status: 401 });
    })
    .onAfterResponse(() => onAnswered())
    .post("/", ({ body }) => {
      const request = readRequest(body);
      return rpcResponse(request.id, answer(request));
    })
    // By default, the framework lets another process of this user share the port and take some of the requests.
    .listen({ hostname: "127.0.0.1", port: 0, reusePort: false });
  const url = parseDoorUrl(`http://127.0.0.1:${app.server?.port}`);
  if (!url) throw new Error("the door has no port");
  return { url, stop: async () => void (await app.stop(true)) };
}
