/** Reads the two encodings of a signature's entitlements for the verifier. Shares no code with the writer. */

/**
 * The entitlements that are true.
 *
 * @param plist the XML property list
 * @param der the same in DER; both are absent if the signature has none
 * @returns a sentence if the two are malformed or disagree, because macOS obeys one and shows the other
 */
export function readEntitlements(
  plist: Uint8Array | undefined,
  der: Uint8Array | undefined,
): readonly string[] | string {
  if (plist === undefined && der === undefined) return [];
  if (plist === undefined || der === undefined) return "the entitlements are in one encoding only";
  const listed = readPlist(new TextDecoder().decode(plist));
  const encoded = readDer(der);
  if (listed === undefined) return "the entitlements' property list holds more than keys that are true";
  if (encoded === undefined) return "the entitlements' DER is malformed";
  const same = [...listed].sort().join("\n") === encoded.join("\n");
  return same ? encoded : "the entitlements' two encodings disagree";
}

function readPlist(xml: string): string[] | undefined {
  const body = /<plist version="1\.0">\s*<dict>([\s\S]*)<\/dict>\s*<\/plist>\s*$/.exec(xml)?.[1];
  if (body === undefined) return undefined;
  const entry = /\s*<key>([^<]+)<\/key>\s*<true\/>/gy;
  const keys = Array.from(body.matchAll(entry), ([, key = ""]) => key);
  return body.replaceAll(entry, "").trim() === "" ? keys : undefined;
}

type Element = { readonly tag: number; readonly content: Uint8Array };

/** The keys. They must be sorted, because the kernel uses a binary search. */
function readDer(bytes: Uint8Array): string[] | undefined {
  const [outer, behind] = elements(bytes) ?? [];
  if (outer?.tag !== 0x70 || behind !== undefined) return undefined;
  const [version, dictionary, extra] = elements(outer.content) ?? [];
  if (version?.tag !== 0x02 || version.content[0] !== 1) return undefined;
  if (dictionary?.tag !== 0xb0 || extra !== undefined) return undefined;
  const keys: string[] = [];
  for (const pair of elements(dictionary.content) ?? []) {
    const [key, value] = elements(pair.content) ?? [];
    if (pair.tag !== 0x30 || key?.tag !== 0x0c) return undefined;
    if (value?.tag !== 0x01 || value.content[0] !== 0xff) return undefined;
    keys.push(new TextDecoder().decode(key.content));
  }
  return keys.every((key, index) => index === 0 || key > (keys[index - 1] ?? "")) ? keys : undefined;
}

/** The elements, one after another; `undefined` if they do not fill the bytes exactly. */
function elements(bytes: Uint8Array): Element[] | undefined {
  const found: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at++];
    const first = bytes[at++];
    if (tag === undefined || first === undefined) return undefined;
    let length = first;
    if (first >= 0x80) {
      length = 0;
      for (let left = first & 0x7f; left > 0; left--) length = length * 256 + (bytes[at++] ?? Number.NaN);
    }
    if (!(at + length <= bytes.length)) return undefined;
    found.push({ tag, content: bytes.subarray(at, at + length) });
    at += length;
  }
  return found;
}
