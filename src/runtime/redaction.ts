/**
 * Removes tokens from everything that a child said.
 *
 * From a result only the two tokens of its launch are removed, and only where they appear whole. The answer is
 * otherwise left as it is (`redact`, `createRedactor`). Any other text of a child (a line of its output, a detail, a
 * name, an error) also loses pieces of these tokens, and anything that looks like one of the daemon's tokens
 * (`redactSaid`).
 */

import { begunAtEnd, occurrencesOf, onceForEach, REDACTED, type Secret } from "./secret.ts";

/** A range of a text. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly mask: string;
}

/** Shown in place of a secret. It is never longer than the secret, so the text does not grow. */
function maskOf(length: number): string {
  return length < REDACTED.length ? "*".repeat(length) : REDACTED;
}

/** `text` with every occurrence of every secret replaced. */
export function redact(text: string, secrets: readonly Secret[]): string {
  return replaced(text, wholeSecrets(text, secrets));
}

/** Replaces each span by its mask. Overlapping spans count as one. */
function replaced(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let shown = "";
  let done = 0;
  for (const { start, end, mask } of [...spans].sort((one, other) => one.start - other.start)) {
    if (start >= done) shown += text.slice(done, start) + mask;
    done = Math.max(done, end);
  }
  return shown + text.slice(done);
}

/**
 * How often a secret is masked by itself in a text that is whole. A child can choose a token of one letter, and write that
 * letter 64 million times: the rest of such a text is masked as one.
 */
const MOST_OCCURRENCES = 100_000;

function wholeSecrets(text: string, secrets: readonly Secret[], most = MOST_OCCURRENCES): Span[] {
  const spans: Span[] = [];
  for (const secret of secrets) {
    const token = secret.reveal();
    const mask = maskOf(token.length);
    const places = occurrencesOf(secret, text, most);
    for (const start of places) spans.push({ start, end: start + token.length, mask });
    const after = (places.at(-1) ?? 0) + token.length;
    if (places.length < most || after >= text.length) continue;
    spans.push({ start: after, end: text.length, mask: maskOf(text.length - after) });
  }
  return spans;
}

/**
 * Redacts what a child said, for a log, a trace, an error or another reader. It replaces the secrets, pieces of them of
 * 16 characters or more (a token may be split over lines, or cut), and anything that looks like one of the daemon's
 * tokens. Percent-encoded characters are recognised too.
 */
export function redactSaid(text: string, secrets: readonly Secret[]): string {
  const { plain, origin } = withoutPercents(text);
  const pieces = secrets.length > 0 ? piecesOf(plain, secrets) : [];
  const spans = [...wholeSecrets(plain, secrets), ...pieces, ...shapesIn(plain)];
  if (!origin) return replaced(plain, spans);
  const within = spans.map(({ start, end, mask }) => ({
    start: origin[start] ?? text.length,
    end: origin[end] ?? text.length,
    mask,
  }));
  return replaced(text, within);
}

const PERCENT_ENCODED = /%([2-7][0-9A-Fa-f])/g;
/** How many times a text is decoded, because it may have been encoded more than once. */
const MAX_DECODINGS = 4;

interface Decoded {
  readonly plain: string;
  /** Where each character of `plain` begins in the text. Absent if the two texts are the same. */
  readonly origin?: readonly number[];
}

/** The text with its percent-encoded ASCII decoded. */
function withoutPercents(text: string): Decoded {
  let decoded: Decoded = { plain: text };
  for (let round = 0; round < MAX_DECODINGS && decoded.plain.search(PERCENT_ENCODED) >= 0; round++) {
    const { plain, origin } = decodedOnce(decoded.plain);
    const before = decoded.origin;
    decoded = { plain, origin: before ? origin.map((at) => before[at] ?? text.length) : origin };
  }
  return decoded;
}

function decodedOnce(text: string): Required<Decoded> {
  const origin: number[] = [];
  let removed = 0;
  let copied = 0;
  const plain = text.replace(PERCENT_ENCODED, (encoded, digits: string, at: number) => {
    for (; copied < at - removed; copied++) origin.push(copied + removed);
    origin.push(at);
    copied++;
    removed += encoded.length - 1;
    return String.fromCharCode(Number.parseInt(digits, 16));
  });
  for (; copied < plain.length; copied++) origin.push(copied + removed);
  return { plain, origin };
}

/** The shortest piece of a secret that is replaced, in characters. */
const PIECE = 16;
/**
 * The length of the sequences that are looked up. With one look-up every ninth place, no piece of `PIECE` characters is
 * missed.
 */
const PROBE = 8;
const STRIDE = PIECE - PROBE + 1;

function piecesOf(text: string, secrets: readonly Secret[]): Span[] {
  const spans: Span[] = [];
  const tokens = secrets.map((secret) => ({ sequences: sequencesOf(secret), done: 0 }));
  for (let at = 0; at + PROBE <= text.length; at += STRIDE) {
    const sequence = text.slice(at, at + PROBE);
    for (const token of tokens) {
      if (at < token.done || !token.sequences.has(sequence)) continue;
      const piece = extend(text, at, token.sequences);
      token.done = piece.end;
      if (piece.end - piece.start >= PIECE) spans.push(piece);
    }
  }
  return spans;
}

/** Extends the match in both directions, as far as the text agrees with the token. */
function extend(text: string, at: number, sequences: ReadonlySet<string>): Span {
  const isOf = (place: number) => sequences.has(text.slice(place, place + PROBE));
  let first = at;
  while (first > 0 && isOf(first - 1)) first--;
  let last = at;
  while (isOf(last + 1)) last++;
  return { start: first, end: last + PROBE, mask: REDACTED };
}

/** Every sequence of `PROBE` characters in the secret. */
const sequencesOf = onceForEach((token) => {
  const count = Math.max(0, token.length - PROBE + 1);
  return new Set(Array.from({ length: count }, (_, at) => token.slice(at, at + PROBE)));
});

/** A credential or an approval of the daemon's. Its end may be cut off. */
const SHAPE = /ms[ac]1\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]{0,43})?/g;

function shapesIn(text: string): Span[] {
  return [...text.matchAll(SHAPE)].map(({ index, 0: token }) => ({
    start: index,
    end: index + token.length,
    mask: REDACTED,
  }));
}

/** The beginning of such a token, at the end of a text that will continue. */
const SHAPE_BEGUN = /m(?:s(?:[ac](?:1(?:\.[A-Za-z0-9_-]{0,4096}(?:\.[A-Za-z0-9_-]{0,42})?)?)?)?)?$/;
/** Longer than any such beginning. */
const SHAPE_CHARACTERS = 5_000;

/**
 * How many characters at the end of `text` could be the beginning of a secret or of one of the daemon's tokens. A cut
 * there may have left only part of one.
 */
export function partialSecret(text: string, secrets: readonly Secret[]): number {
  let longest = SHAPE_BEGUN.exec(text.slice(-SHAPE_CHARACTERS))?.[0].length ?? 0;
  for (const secret of secrets) longest = Math.max(longest, begunAtEnd(secret, text));
  return longest;
}

/**
 * The first `length` of `bytes` with every secret replaced, including one that continues past them. `bytes` must extend
 * past `length` as far as a secret could reach.
 */
export function redactBytes(bytes: Uint8Array, length: number, secrets: readonly Secret[]): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  const spans = wholeSecrets(text, secrets).filter(({ start }) => start < length);
  if (spans.length === 0) return bytes.subarray(0, length);
  const end = spans.reduce((last, span) => Math.max(last, span.end), length);
  return Buffer.from(replaced(text.slice(0, end), spans), "latin1");
}

/** `redact` for bytes that come in pieces. */
export function createRedactor(secrets: readonly Secret[]) {
  let kept = "";
  return {
    /** Returns what is certain so far. */
    push(bytes: Uint8Array): Uint8Array {
      const text = kept + Buffer.from(bytes).toString("latin1");
      // All of them: what the text ends with may go on.
      const spans = wholeSecrets(text, secrets, text.length + 1);
      const found = spans.reduce((last, { end }) => Math.max(last, end), 0);
      const rest = text.slice(found);
      const begun = secrets.reduce((most, secret) => Math.max(most, begunAtEnd(secret, rest)), 0);
      kept = rest.slice(rest.length - begun);
      return Buffer.from(replaced(text.slice(0, text.length - begun), spans), "latin1");
    },
    /** Returns the rest. */
    end(): Uint8Array {
      const rest = Buffer.from(kept, "latin1");
      kept = "";
      return rest;
    },
  };
}
