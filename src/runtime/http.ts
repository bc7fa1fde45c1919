/**
 * One HTTP/1.1 request of a runtime: to the daemon, to a child's door, or to a parent's.
 *
 * This uses `node:http` instead of `fetch`. Bun's `fetch` would send the request with its credential to `HTTP_PROXY`,
 * and repeat it wherever a redirect points. This asks only the given address and returns its answer, even if that is a
 * redirect.
 */

import { request as httpRequest } from "node:http";
import { collectBytes } from "../json-body.ts";
import type { Clock } from "./clock.ts";
import { redact } from "./redaction.ts";
import { Secret } from "./secret.ts";

/** One request, sent once. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Plain `http:`. */
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string | Secret>>;
  /** JSON text. */
  readonly body?: string;
  /** Cancels the request at once when it aborts. */
  readonly signal?: AbortSignal;
  /** The longest answer that is read, in bytes. Default: `MAX_ANSWER_BYTES`. */
  readonly maxAnswerBytes?: number;
}

/** What came back: an answer with any status, or the transport's reason why there is none. */
export type HttpExchange =
  | { readonly kind: "answered"; readonly status: number; readonly body: string }
  /** `tooLong`: the answer is too long, and asking again would return the same one. */
  | { readonly kind: "failed"; readonly reason: string; readonly tooLong?: true };

/** The limits for reaching the address, sending the request, and receiving the whole answer: milliseconds each. */
const STEP_MS = 30_000;
/** The longest answer that is read by default, in bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** `100 Continue` and the like: how many are taken before the answer. */
const MAX_INTERIM_ANSWERS = 16;

/** Sends the request once. Never throws. The reason of a failure holds no secret. */
export function exchange(asked: HttpRequest, clock: Clock): Promise<HttpExchange> {
  const secrets = Object.values(asked.headers ?? {}).filter((value) => value instanceof Secret);
  return new Promise((resolve) => {
    const settle = (outcome: HttpExchange) => {
      stopStep();
      asked.signal?.removeEventListener("abort", onAbort);
      resolve(outcome);
    };

    const sent = open(asked);
    if (sent instanceof Error) return resolve({ kind: "failed", reason: redact(sent.message, secrets) });

    const fail = (reason: string, more?: { readonly tooLong: true }) => {
      settle({ kind: "failed", reason: redact(reason, secrets), ...more });
      sent.destroy();
    };
    let stopStep = () => {};
    const step = (what: string) => {
      stopStep();
      stopStep = clock.after(STEP_MS, () => fail(`${what} took longer than ${STEP_MS / 1000} s`));
    };
    const onAbort = () => fail("the request was given up");
    asked.signal?.addEventListener("abort", onAbort);

    step("connecting");
    sent.on("socket", (socket) => socket.once("connect", () => step("sending the request")));
    sent.on("finish", () => step("the answer"));
    sent.on("error", (error) => fail(error.message));
    sent.on("close", () => fail("the connection closed before an answer"));
    let interims = 0;
    sent.on("information", () => {
      if (++interims > MAX_INTERIM_ANSWERS)
        fail(`more than ${MAX_INTERIM_ANSWERS} interim answers came first`);
    });
    sent.on("response", (response) => {
      const limit = asked.maxAnswerBytes ?? MAX_ANSWER_BYTES;
      const body = collectBytes();
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > limit) return fail(`the answer is longer than ${limit} bytes`, { tooLong: true });
        body.write(chunk);
      });
      response.on("error", () => fail("the answer was cut short"));
      response.on("end", () => {
        const text = new TextDecoder().decode(body.end());
        settle({ kind: "answered", status: response.statusCode ?? 0, body: text });
      });
    });
    sent.end(asked.body ?? "");
  });
}

function open(asked: HttpRequest): ReturnType<typeof httpRequest> | Error {
  const headers: Record<string, string> = { accept: "application/json" };
  for (const [name, value] of Object.entries(asked.headers ?? {})) {
    headers[name] = value instanceof Secret ? value.reveal() : value;
  }
  if (asked.body !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(asked.body));
  }
  try {
    asked.signal?.throwIfAborted();
    return httpRequest({
      // The brackets of an IPv6 address are only part of the URL's spelling.
      host: asked.url.hostname.replace(/^\[|\]$/g, ""),
      port: asked.url.port === "" ? 80 : Number(asked.url.port),
      path: asked.url.pathname + asked.url.search,
      method: asked.method,
      headers,
      // A new connection each time, so that nothing from an earlier exchange can be mistaken for this answer.
      agent: false,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error("the request could not be made");
  }
}
