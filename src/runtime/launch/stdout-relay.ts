/** A child's standard output: the launcher takes the first line, and every further line is copied on. */

import { partialSecret, redactSaid } from "../redaction.ts";
import type { Secret } from "../secret.ts";
import { parseJsonObject } from "../wire.ts";

/** The longest first line, in bytes. A longer one does not count. */
const MAX_FIRST_LINE = 256 * 1024;
/** The longest further line that is copied whole, in bytes. A longer one is copied in pieces. */
const MAX_PENDING = 1024 * 1024;

export type FirstLine =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "too-long" }
  /** The pipe ended before a line feed, and what came before that is not a JSON object. */
  | { readonly kind: "none" };

export interface StdoutRelay {
  readonly firstLine: Promise<FirstLine>;
  /** The next bytes of the pipe. */
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /**
   * Copies every further line on, with `secrets` redacted. Until this is called the lines wait, and so does the child.
   */
  copy(secrets: readonly Secret[]): void;
  /** Throws away every further line. */
  discard(): void;
}

export function createStdoutRelay(write: (bytes: Uint8Array) => Promise<void>): StdoutRelay {
  const { promise: firstLine, resolve: settleFirst } = Promise.withResolvers<FirstLine>();
  const { promise: chosen, resolve: choose } = Promise.withResolvers<readonly Secret[] | "discard">();
  let first: string | undefined = "";
  // Latin-1: one character is one byte, so nothing is decoded on its way through.
  let pending = "";

  const pass = async (text: string, last: boolean) => {
    const secrets = await chosen;
    if (secrets === "discard") return;
    // Only new bytes are searched, so a line that comes byte by byte costs no more than one that comes at once.
    const end = text.lastIndexOf("\n");
    let whole = end < 0 ? 0 : pending.length + end + 1;
    pending += text;
    if (last) whole = pending.length;
    if (whole === 0 && pending.length > MAX_PENDING) whole = pending.length - partialSecret(pending, secrets);
    const ready = pending.slice(0, whole);
    pending = pending.slice(whole);
    if (ready !== "") await write(Buffer.from(redactSaid(ready, secrets), "latin1"));
  };

  return {
    firstLine,
    async write(chunk) {
      const text = Buffer.from(chunk).toString("latin1");
      if (first === undefined) return pass(text, false);
      const inText = text.indexOf("\n");
      const end = inText < 0 ? -1 : first.length + inText;
      first += text;
      if (end < 0 && first.length <= MAX_FIRST_LINE) return;
      const tooLong = end < 0 || end > MAX_FIRST_LINE;
      const line = Buffer.from(first.slice(0, end), "latin1").toString("utf8");
      const rest = tooLong ? "" : first.slice(end + 1);
      first = undefined;
      settleFirst(tooLong ? { kind: "too-long" } : { kind: "line", text: line });
      if (rest !== "") await pass(rest, false);
    },
    async end() {
      const unended = Buffer.from(first ?? "", "latin1").toString("utf8");
      settleFirst(parseJsonObject(unended) ? { kind: "line", text: unended } : { kind: "none" });
      if (first === undefined) await pass("", true);
    },
    copy: choose,
    discard: () => choose("discard"),
  };
}
