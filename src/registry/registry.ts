/**
 * The artifact registry on disk: coordinates in, the artifact that is there now out.
 *
 * Most requests name an artifact that has not changed. What was read is kept under everything `stat` tells of the files
 * it came from, and those are asked anew at each request: a replaced file is noticed by the next one.
 */

import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeOsError, isSystemError } from "../os-error.ts";
import { readArtifactFile } from "./artifact-file.ts";
import { bareName, type Coordinates, type Sha256 } from "./artifact-name.ts";
import type { Manifest, ManifestReading } from "./manifest.ts";
import { platformName } from "./platform.ts";

/** An artifact as it was resolved. `held` is what the caller made of its manifest, once per reading. */
export interface Artifact<Held> {
  readonly sha256: Sha256;
  readonly held: Held;
}

/** `message` is a whole sentence for the caller: it names the coordinate and, for input and output, path and OS error. */
export type Resolution<Held> =
  | { readonly ok: true; readonly artifact: Artifact<Held> }
  | { readonly ok: false; readonly message: string };

export interface RegistryOptions<Held, Read = Manifest> {
  readonly path: string;
  /** Reads a manifest's text; may take its time elsewhere. */
  readonly readManifest: (source: string) => ManifestReading<Read> | Promise<ManifestReading<Read>>;
  /** What to keep of a manifest. */
  readonly lower: (manifest: Read) => Held;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly platform?: string;
  /** Coordinates remembered; the one that was asked for longest ago goes first. */
  readonly capacity?: number;
}

/** A file that changed less than this ago could change again within the same time stamp: nothing is kept of it. */
const SETTLED_AFTER_MS = 20n;
/** How often a file that changes under the reader is read anew before the request is given up. */
const READ_ATTEMPTS = 3;
const SIDECAR_BYTES = 4096;

/** The pair of files that a coordinate stands for now, with what `stat` said of them. */
interface Pair {
  readonly zip: string;
  readonly sidecar: string;
  readonly zipStat: BigIntStats;
  readonly sidecarStat: BigIntStats;
}

interface Kept<Held> {
  readonly pair: Pair;
  readonly resolution: Resolution<Held>;
}

export class Registry<Held, Read = Manifest> {
  readonly #options: RegistryOptions<Held, Read>;
  readonly #platform: string;
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept<Held>>();
  readonly #reading = new Map<string, { readonly pair: Pair; readonly result: Promise<Resolution<Held>> }>();

  constructor(options: RegistryOptions<Held, Read>) {
    this.#options = options;
    this.#platform = options.platform ?? platformName();
    this.#capacity = options.capacity ?? 256;
    this.#now = options.now ?? Date.now;
  }

  /** Answers at once for what it has read before; requests for the same unread artifact share one reading. */
  resolve(coordinates: Coordinates): Resolution<Held> | Promise<Resolution<Held>> {
    const key = `${coordinates.name}/${coordinates.version}`;
    const pair = this.#locate(coordinates, key);
    if ("ok" in pair) return pair;
    const kept = this.#kept.get(key);
    if (kept && samePair(kept.pair, pair)) {
      this.#remember(key, kept);
      return kept.resolution;
    }
    const reading = this.#reading.get(key);
    if (reading && samePair(reading.pair, pair)) return reading.result;
    const result = this.#read(coordinates, key, pair).finally(() => {
      if (this.#reading.get(key)?.result === result) this.#reading.delete(key);
    });
    this.#reading.set(key, { pair, result });
    return result;
  }

  #locate({ name, version }: Coordinates, key: string): Pair | Resolution<Held> {
    const directory = join(this.#options.path, name, version);
    const base = join(directory, `${bareName(name)}-${version}`);
    try {
      const pair = wholePair(`${base}-${this.#platform}`) ?? wholePair(base);
      if (pair) return pair;
      const missing = `${base}.mur.zip`;
      const file = statSync(missing, { throwIfNoEntry: false }) ? `${base}.sha256` : missing;
      return registryFault(key, `not found: ${file}: No such file or directory (os error 2)`);
    } catch (error) {
      const path = isSystemError(error) && "path" in error ? String(error.path) : directory;
      return registryFault(key, `${path}: ${describeOsError(error)}`);
    }
  }

  async #read(coordinates: Coordinates, key: string, located: Pair): Promise<Resolution<Held>> {
    let pair = located;
    for (let attempt = 1; ; attempt++) {
      const resolution = await this.#readOnce(key, pair);
      const after = this.#locate(coordinates, key);
      if ("ok" in after) return after;
      if (samePair(pair, after)) {
        if (this.#isSettled(pair)) this.#remember(key, { pair, resolution });
        return resolution;
      }
      if (attempt === READ_ATTEMPTS)
        return registryFault(key, `${pair.zip}: changed while it was being read`);
      pair = after;
    }
  }

  async #readOnce(key: string, pair: Pair): Promise<Resolution<Held>> {
    const promised = readSidecar(pair.sidecar);
    if ("fault" in promised) return registryFault(key, promised.fault);
    const reading = await readArtifactFile(pair.zip);
    if (reading.kind === "unreadable") return registryFault(key, reading.fault);
    if (reading.sha256 !== promised.sha256) {
      return registryFault(
        key,
        `${pair.sidecar} names another hash than that of ${pair.zip} (named ${promised.sha256}, found ${reading.sha256})`,
      );
    }
    if (reading.kind === "not-an-archive") {
      return { ok: false, message: `manifest extraction failed: '${key}': ${reading.fault}` };
    }
    const manifest = await this.#manifest(reading.manifestText);
    if (!manifest.ok) return { ok: false, message: `manifest parse error: '${key}': ${manifest.fault}` };
    const held = this.#options.lower(manifest.manifest);
    return { ok: true, artifact: { sha256: reading.sha256, held } };
  }

  #manifest(bytes: Uint8Array): ManifestReading<Read> | Promise<ManifestReading<Read>> {
    const source = decodeUtf8(bytes);
    if (source === undefined) return { ok: false, fault: "the text is not valid UTF-8" };
    return this.#options.readManifest(source);
  }

  #isSettled({ zipStat, sidecarStat }: Pair): boolean {
    const threshold = (BigInt(Math.trunc(this.#now())) - SETTLED_AFTER_MS) * 1_000_000n;
    return [zipStat.mtimeNs, zipStat.ctimeNs, sidecarStat.mtimeNs, sidecarStat.ctimeNs].every(
      (changed) => changed < threshold,
    );
  }

  #remember(key: string, kept: Kept<Held>): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (this.#kept.size <= this.#capacity) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      break;
    }
  }
}

function registryFault(key: string, what: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message: `registry error for '${key}': ${what}` };
}

/** The zip and the sidecar of one base name, where both are there. */
function wholePair(base: string): Pair | undefined {
  const zip = `${base}.mur.zip`;
  const zipStat = statSync(zip, { bigint: true, throwIfNoEntry: false });
  if (!zipStat) return undefined;
  const sidecar = `${base}.sha256`;
  const sidecarStat = statSync(sidecar, { bigint: true, throwIfNoEntry: false });
  return sidecarStat && { zip, sidecar, zipStat, sidecarStat };
}

function samePair(one: Pair, other: Pair): boolean {
  return (
    one.zip === other.zip &&
    sameFile(one.zipStat, other.zipStat) &&
    sameFile(one.sidecarStat, other.sidecarStat)
  );
}

function sameFile(one: BigIntStats, other: BigIntStats): boolean {
  return (
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
  );
}

const HEX_SHA256 = /^[0-9a-f]{64}$/;

function readSidecar(path: string): { readonly sha256: Sha256 } | { readonly fault: string } {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return { fault: `${path}: not a regular file` };
    if (stat.size > SIDECAR_BYTES) return { fault: `${path}: larger than ${SIDECAR_BYTES} bytes` };
    const text = readFileSync(path, "latin1").trim();
    if (!HEX_SHA256.test(text)) return { fault: `${path}: must hold one lowercase hex SHA-256` };
    return { sha256: text as Sha256 };
  } catch (error) {
    return { fault: `${path}: ${describeOsError(error)}` };
  }
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // A byte order mark stays in the text, for the reader to refuse.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
