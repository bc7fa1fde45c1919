/**
 * Network entries: `host`, `host:port` or `scheme://host[:port]`.
 *
 * One covers another when the hosts are equal and, on scheme and port each, it says any or the same.
 */

/** `undefined` on scheme or port means any. */
interface NetworkRule {
  readonly scheme: "http" | "https" | undefined;
  readonly host: string;
  readonly port: number | undefined;
}

/**
 * A host holds no character that ends a URL's host, and brackets hold only an IPv6 address: `[user@example.com/]` is no
 * host.
 */
const ENTRY = /^(?:([a-z]+):\/\/)?(\[[0-9a-f:.]+\]|[^\s:/?#@\\[\]]+)(?::([0-9]+))?\/?$/i;
const READABLE_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** The entry as a rule, or `undefined` if it is unreadable. */
export function parseNetworkRule(entry: string): NetworkRule | undefined {
  // JavaScript trims U+FEFF as white space, but the launcher does not.
  if (entry.includes("\ufeff")) return undefined;
  const [, prefix, authority, digits] = ENTRY.exec(entry.trim()) ?? [];
  if (authority === undefined) return undefined;
  const scheme = prefix?.toLowerCase();
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") return undefined;
  const host = parseHost(authority);
  if (host === undefined) return undefined;
  // The port is taken from the text, because URL parsing drops a scheme's default port.
  const written = digits === undefined ? undefined : Number(digits);
  if (written !== undefined && written > 65535) return undefined;
  return { scheme, host, port: written ?? (scheme && DEFAULT_PORTS[scheme]) };
}

/** The host as the URL standard writes it: lower case, punycode, numeric forms resolved. */
function parseHost(authority: string): string | undefined {
  const url = URL.parse(`http://${authority}/`);
  return url && READABLE_HOST.test(url.hostname) ? url.hostname : undefined;
}

/** A parent's network entries, indexed so that a lookup costs the same however many there are. */
export class NetworkRules {
  readonly #keys = new Set<string>();

  /** An unreadable entry covers nothing. */
  add(entry: string): void {
    const rule = parseNetworkRule(entry);
    if (rule) this.#keys.add(keyOf(rule.scheme, rule.host, rule.port));
  }

  /** Whether one of the entries covers this one; an unreadable entry is never covered. */
  covers(entry: string): boolean {
    const rule = parseNetworkRule(entry);
    if (!rule) return false;
    const { scheme, host, port } = rule;
    return (
      this.#keys.has(keyOf(undefined, host, undefined)) ||
      this.#keys.has(keyOf(scheme, host, undefined)) ||
      this.#keys.has(keyOf(undefined, host, port)) ||
      this.#keys.has(keyOf(scheme, host, port))
    );
  }
}

function keyOf(scheme: string | undefined, host: string, port: number | undefined): string {
  return `${scheme} ${host} ${port}`;
}
