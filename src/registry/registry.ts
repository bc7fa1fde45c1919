/**
 * The artifact registry on disk: coordinates in, the artifact that is there now out.
 *
 * Most requests name an artifact that has not changed. What was read is kept under everything `stat` tells of the files
 * it came from, and those are asked anew at each request: a replaced file is noticed by the next one.
 */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeOsError, isSystemError } from "../os-error.ts";
import { bareName, type Coordinates, type Sha256 } from "./artifact-name.ts";
import { isSettled, isUnchanged, type Sighting, sight } from "./file-stamp.ts";
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
  /** What to keep of a manifest; a promise where that takes long. */
  readonly lower: (manifest: Read) => Held | Promise<Held>;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly platform?: string;
  /** Coordinates remembered; the one that was asked for longest ago goes first. */
  readonly capacity?: number;
}

/** How often a file that changes under the reader is read anew before the request is given up. */
const READ_ATTEMPTS = 3;
const SIDECAR_BYTES = 4096;

/** The files that a coordinate stands for, and what was looked at to find them. */
interface Located {
  readonly zip: string;
  readonly sidecar: string;
  /** Every path that was asked about, absent ones too, with what the file system said. */
  readonly seen: readonly Sighting[];
  /** Unix milliseconds, before the first of them was. */
  readonly seenAt: number;
}

/** What one reading came to. It lasts as long as its files stand, unless it was the host that failed. */
interface Verdict<Held> {
  readonly resolution: Resolution<Held>;
  readonly lasting: boolean;
}

interface Kept<Held> {
  readonly seen: readonly Sighting[];
  readonly resolution: Resolution<Held>;
}

export class Registry<Held, Read = Manifest> {
  readonly #options: RegistryOptions<Held, Read>;
  readonly #platform: string;
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept<Held>>();
  /** The looks that are due at the end of this turn. */
  readonly #looking = new Map<string, Promise<Resolution<Held>>>();
  readonly #reading = new Map<
    string,
    { readonly seen: readonly Sighting[]; readonly result: Promise<Resolution<Held>> }
  >();

  constructor(options: RegistryOptions<Held, Read>) {
    this.#options = options;
    this.#platform = options.platform ?? platformName();
    this.#capacity = options.capacity ?? 256;
    this.#now = options.now ?? Date.now;
  }

  /** Requests for the same artifact share one look at it, and one reading where it is not known. */
  resolve(coordinates: Coordinates): Promise<Resolution<Held>> {
    const key = `${coordinates.name}/${coordinates.version}`;
    const due = this.#looking.get(key);
    if (due) return due;
    // One look a turn of the event loop, after the last request of that turn: none is answered by an older one.
    const looking = new Promise<void>((turn) => setImmediate(turn)).then(() => {
      this.#looking.delete(key);
      return this.#look(coordinates, key);
    });
    this.#looking.set(key, looking);
    return looking;
  }

  #look(coordinates: Coordinates, key: string): Resolution<Held> | Promise<Resolution<Held>> {
    const kept = this.#kept.get(key);
    if (!kept || !isUnchanged(kept.seen)) return this.#readShared(coordinates, key);
    this.#remember(key, kept);
    return kept.resolution;
  }

  #readShared(coordinates: Coordinates, key: string): Resolution<Held> | Promise<Resolution<Held>> {
    const reading = this.#reading.get(key);
    if (reading && isUnchanged(reading.seen)) return reading.result;
    const located = this.#locate(coordinates, key);
    if ("ok" in located) return located;
    const result = this.#read(coordinates, key, located).finally(() => {
      if (this.#reading.get(key)?.result === result) this.#reading.delete(key);
    });
    this.#reading.set(key, { seen: located.seen, result });
    return result;
  }

  #locate({ name, version }: Coordinates, key: string): Located | Resolution<Held> {
    const base = join(this.#options.path, name, version, `${bareName(name)}-${version}`);
    const seenAt = this.#now();
    const seen: Sighting[] = [];
    try {
      for (const candidate of [`${base}-${this.#platform}`, base]) {
        const zip = `${candidate}.mur.zip`;
        const sidecar = `${candidate}.sha256`;
        // The pair that is chosen must be whole.
        const whole = [zip, sidecar].every((path) => {
          const sighting = sight(path);
          seen.push(sighting);
          return sighting.stamp !== undefined;
        });
        if (whole) return { zip, sidecar, seen, seenAt };
      }
    } catch (error) {
      const path = isSystemError(error) && "path" in error ? String(error.path) : base;
      return registryFault(key, `${path}: ${describeOsError(error)}`);
    }
    const missing = seen.at(-1)?.path ?? base;
    return registryFault(key, `not found: ${missing}: No such file or directory (os error 2)`);
  }

  async #read(coordinates: Coordinates, key: string, first: Located): Promise<Resolution<Held>> {
    let located = first;
    for (let attempt = 1; ; attempt++) {
      const { resolution, lasting } = await this.#readOnce(key, located);
      if (isUnchanged(located.seen)) {
        if (lasting && isSettled(located.seen, located.seenAt)) {
          this.#remember(key, { seen: located.seen, resolution });
        }
        return resolution;
      }
      const again = this.#locate(coordinates, key);
      if ("ok" in again) return again;
      if (attempt === READ_ATTEMPTS) {
        return registryFault(key, `${located.zip}: changed while it was being read`);
      }
      located = again;
    }
  }

  async #readOnce(key: string, files: Located): Promise<Verdict<Held>> {
    const promised = readSidecar(files.sidecar);
    if ("fault" in promised) {
      return { resolution: registryFault(key, promised.fault), lasting: promised.lasting };
    }
    // Loaded by the first reading: a start has no use for a ZIP reader.
    const { readArtifactFile } = await import("./artifact-file.ts");
    const reading = await readArtifactFile(files.zip);
    if (reading.kind === "failed" || reading.kind === "unreadable") {
      return { resolution: registryFault(key, reading.fault), lasting: reading.kind === "unreadable" };
    }
    if (reading.sha256 !== promised.sha256) {
      const hashes = `(named ${promised.sha256}, found ${reading.sha256})`;
      const fault = `${files.sidecar} names another hash than that of ${files.zip} ${hashes}`;
      return { resolution: registryFault(key, fault), lasting: true };
    }
    if (reading.kind === "not-an-archive") {
      const message = `manifest extraction failed: '${key}': ${reading.fault}`;
      return { resolution: { ok: false, message }, lasting: true };
    }
    const manifest = await this.#manifest(reading.manifestText);
    if (!manifest.ok) {
      const message = `manifest parse error: '${key}': ${manifest.fault}`;
      return { resolution: { ok: false, message }, lasting: true };
    }
    const held = await this.#options.lower(manifest.manifest);
    return { resolution: { ok: true, artifact: { sha256: reading.sha256, held } }, lasting: true };
  }

  #manifest(bytes: Uint8Array): ManifestReading<Read> | Promise<ManifestReading<Read>> {
    const source = decodeUtf8(bytes);
    if (source === undefined) return { ok: false, fault: "the text is not valid UTF-8" };
    return this.#options.readManifest(source);
  }

  /** Keeps it as the one asked for last. */
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

const HEX_SHA256 = /^[0-9a-f]{64}$/;

type Sidecar = { readonly sha256: Sha256 } | { readonly fault: string; readonly lasting: boolean };

function readSidecar(path: string): Sidecar {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return { fault: `${path}: not a regular file`, lasting: true };
    if (stat.size > SIDECAR_BYTES)
      return { fault: `${path}: larger than ${SIDECAR_BYTES} bytes`, lasting: true };
    const text = readFileSync(path, "latin1").trim();
    if (HEX_SHA256.test(text)) return { sha256: text as Sha256 };
    return { fault: `${path}: must hold one lowercase hex SHA-256`, lasting: true };
  } catch (error) {
    return { fault: `${path}: ${describeOsError(error)}`, lasting: false };
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
