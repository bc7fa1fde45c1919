/**
 * A request's body as JSON, whatever its content type says, read within a size limit and a deadline. For the daemon, and
 * for the library's door of a parent.
 */

import { parseJson } from "./json.ts";
import { fault, ok, type Result } from "./result.ts";

export const MAX_BODY_BYTES = 64 * 1024;
/** A whole body must arrive within this time, however slowly its bytes come. */
export const BODY_DEADLINE_SECONDS = 10;

export function hasBody(request: Request): boolean {
  const length = request.headers.get("content-length");
  return request.headers.has("transfer-encoding") || (length !== null && length !== "0");
}

/** Why there is no value. `what` is a sentence that names what to change. */
export type BodyFault =
  | { readonly kind: "body-too-large"; readonly maxBytes: number }
  | { readonly kind: "body-too-slow"; readonly seconds: number }
  | { readonly kind: "body-ended-early" }
  | { readonly kind: "bad-body"; readonly what: string };

const TOO_LARGE: BodyFault = { kind: "body-too-large", maxBytes: MAX_BODY_BYTES };
const TOO_SLOW: BodyFault = { kind: "body-too-slow", seconds: BODY_DEADLINE_SECONDS };
const ENDED_EARLY: BodyFault = { kind: "body-ended-early" };

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export async function readJsonBody(request: Request): Promise<Result<unknown, BodyFault>> {
  const bytes = await readBytes(request);
  if ("kind" in bytes) return fault(bytes);
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return fault(notJson("is not valid UTF-8"));
  }
  try {
    return ok(parseJson(text));
  } catch {
    return fault(notJson(text === "" ? "is empty, and must be a JSON object" : "cannot be parsed"));
  }
}

function notJson(why: string): BodyFault {
  return { kind: "bad-body", what: `invalid JSON: the body ${why}` };
}

/** Reads a whole body, or says why it is refused. It leaves unread bytes to `drain`. */
function readBytes(request: Request): Promise<Uint8Array | BodyFault> {
  const { headers } = request;
  // Not a number if the header was sent twice: the parser takes the same length twice, and gives both.
  const length = Number(headers.get("content-length") ?? 0);
  if (length > MAX_BODY_BYTES) return Promise.resolve(TOO_LARGE);
  const isSizeKnown = !Number.isNaN(length) && !headers.has("transfer-encoding");
  const reading = isSizeKnown ? request.bytes() : readCounted(request);
  return new Promise((resolve) => {
    // The runtime's idle timeout restarts with each byte; this deadline does not.
    const deadline = setTimeout(() => resolve(TOO_SLOW), BODY_DEADLINE_SECONDS * 1000);
    const settle = (bytes: Uint8Array | BodyFault) => {
      clearTimeout(deadline);
      resolve(bytes);
    };
    // The read fails if the client goes away.
    reading.then(settle, () => settle(ENDED_EARLY));
  });
}

/** Reads a body whose size is not known in advance. It stops at the limit and leaves the rest to `drain`. */
async function readCounted(request: Request): Promise<Uint8Array | BodyFault> {
  const reader = request.body?.getReader();
  const body = collectBytes();
  for (let length = 0; ; ) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) return body.end();
    length += chunk.value.length;
    if (length > MAX_BODY_BYTES) {
      reader?.releaseLock();
      return TOO_LARGE;
    }
    body.write(chunk.value);
  }
}

/** A body that comes in chunks. They are copied: one byte that is kept as a chunk costs a hundred. */
export function collectBytes() {
  const sink = new Bun.ArrayBufferSink();
  sink.start({ asUint8Array: true });
  return {
    write: (chunk: Uint8Array) => void sink.write(chunk),
    end: () => sink.end() as Uint8Array,
  };
}

const DRAINED_BYTES = 16 * 1024 * 1024;
const DRAINED_MS = 1000;
/** A client that sends nothing for this long on loopback has stopped sending. */
const PAUSE_MS = 100;

/**
 * Reads and discards the rest of a body, for at most a second. Otherwise a client that sends its whole body before it
 * reads would see a broken connection instead of the answer.
 */
export async function drain(request: Request): Promise<void> {
  if (request.body === null || request.body.locked) return;
  const reader = request.body.getReader();
  const end = performance.now() + DRAINED_MS;
  try {
    for (let drained = 0; drained < DRAINED_BYTES && performance.now() < end; ) {
      const chunk = await Promise.race([reader.read(), Bun.sleep(PAUSE_MS)]);
      if (!chunk || chunk.done) return;
      drained += chunk.value.length;
    }
  } catch {
    // The client went away.
  }
}
