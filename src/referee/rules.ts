/** What covers what, where equal texts are not the whole rule: network entries, install patterns, filesystem scopes. */

/**
 * A network entry: `host`, `host:port` or `scheme://host[:port]`. `undefined` on scheme or port means any.
 *
 * One covers another when the hosts are equal and, on scheme and port each, it says any or the same.
 */
interface NetworkRule {
  readonly scheme: "http" | "https" | undefined;
  readonly host: string;
  readonly port: number | undefined;
}

const ENTRY = /^(?:([a-z]+):\/\/)?(\[[^\]]*\]|[^\s:/?#@\\[\]]+)(?::([0-9]+))?\/?$/i;
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

const PATTERN = /^(?:[a-z0-9/-]+\*?|\*)$/;

/**
 * A parent's install patterns, indexed by the lengths of their prefixes. A pattern is an exact name, or a prefix followed
 * by `*`: `p*` covers every name and every pattern that begins with `p`; in `*` alone, `p` is empty. An exact name covers
 * itself only.
 */
export class InstallPatterns {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #lengths = new Set<number>();

  /** A malformed pattern covers nothing. */
  add(pattern: string): void {
    if (!PATTERN.test(pattern)) return;
    if (!pattern.endsWith("*")) {
      this.#names.add(pattern);
      return;
    }
    const prefix = pattern.slice(0, -1);
    this.#prefixes.add(prefix);
    this.#lengths.add(prefix.length);
  }

  /** Whether one of the patterns covers this one; a malformed pattern is never covered. */
  covers(pattern: string): boolean {
    if (!PATTERN.test(pattern)) return false;
    if (this.#names.has(pattern)) return true;
    // Loops over this text's lengths: a parent may have hundreds of others, and this runs for each of a child's entries.
    // The star at the end of a pattern is in no prefix.
    for (let length = 0; length <= pattern.length; length++) {
      if (this.#lengths.has(length) && this.#prefixes.has(pattern.slice(0, length))) return true;
    }
    return false;
  }
}

/** The components of a filesystem scope below the workdir, or `undefined` if it is absolute or climbs out of it. */
export function parseScope(scope: string): readonly string[] | undefined {
  if (scope.startsWith("/")) return undefined;
  const components: string[] = [];
  for (const component of scope.split("/")) {
    if (component === "" || component === ".") continue;
    if (component !== "..") components.push(component);
    else if (components.pop() === undefined) return undefined;
  }
  return components;
}

/**
 * Whether a parent's scope covers a child's: the child's must be equal or beneath. A parent without a scope holds the
 * whole workdir, so it covers every child. A child without one would reach the whole workdir, which no scope covers.
 */
export function scopeCovers(parent: string | undefined, child: string | undefined): boolean {
  if (parent === undefined) return true;
  if (child === undefined) return false;
  const outer = parseScope(parent);
  const inner = parseScope(child);
  return outer !== undefined && inner !== undefined && outer.every((name, index) => inner[index] === name);
}
