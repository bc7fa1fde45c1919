/**
 * Entitlements in the two encodings that a signature contains: the property list that every macOS reads, and the DER that
 * macOS 12 and later use. Only boolean entitlements that are true, which is all we need.
 */

/**
 * What a JavaScript engine needs under the hardened runtime: memory that it writes and then runs.
 *
 * Our signature is ad hoc and not hardened, so these have no effect in it. They are included so that the program still
 * starts if someone signs it again, hardened, with `--preserve-metadata=entitlements`. The runtime's original signature
 * also switches off library validation and allows DYLD variables. The daemon needs neither, and both weaken it.
 */
export const JIT_ENTITLEMENTS: readonly string[] = [
  "com.apple.security.cs.allow-jit",
  "com.apple.security.cs.allow-unsigned-executable-memory",
  "com.apple.security.cs.disable-executable-page-protection",
];

/** An XML property list: one dictionary, in which each key is true. */
export function entitlementsPlist(keys: readonly string[]): Uint8Array {
  const entries = keys.map((key) => `\t<key>${key}</key>\n\t<true/>\n`).join("");
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n<dict>\n${entries}</dict>\n</plist>\n`,
  );
}

const APPLICATION_16 = 0x70;
const CONTEXT_16 = 0xb0;
const INTEGER = 0x02;
const SEQUENCE = 0x30;
const UTF8_STRING = 0x0c;
const BOOLEAN = 0x01;

/** `[APPLICATION 16] { 1, [16] { SEQUENCE { key, TRUE }, … } }`, the keys sorted: the form that `codesign` writes. */
export function entitlementsDer(keys: readonly string[]): Uint8Array {
  const entries = [...keys]
    .sort()
    .map((key) => tlv(SEQUENCE, tlv(UTF8_STRING, Buffer.from(key)), tlv(BOOLEAN, Buffer.of(0xff))));
  return tlv(APPLICATION_16, tlv(INTEGER, Buffer.of(1)), tlv(CONTEXT_16, ...entries));
}

function tlv(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(content);
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), body]);
}
