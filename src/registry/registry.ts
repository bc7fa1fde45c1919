/**
 * The artifact registry on disk: resolves coordinates to the artifact that is there now.
 *
 * Most requests name an artifact that has not changed, so results are remembered. Each request compares the files' `stat`
 * with the remembered one: a replaced file is noticed by the next request.
 */

import { inSlices } from "../slices.ts";
import { readArtifactFile, readSidecar } from "./artifact-file.ts";
import type { Coordinates, Sha256 } from "./artifact-name.ts";
import { ASKERS, type Asker, type Entry, LANES, Lane, Memory, OnceATurn } from "./lanes.ts";
import type { Manifest, ManifestReading } from "./manifest.ts";
import {
  isSettled,
  isUnchanged,
  locate,
  type Place,
  platformName,
  type RegistryDirectory,
} from "./places.ts";
import { SpareDescriptors } from "./spare-descriptors.ts";

/** A resolved artifact. `held` is what `lower` made of its manifest, once per reading. */
export interface Artifact<Held> {
  readonly sha256: Sha256;
  readonly held: Held;
}

/** `message` is a whole sentence for the caller. It names the coordinate and, for a file error, path and OS error. */
export type Resolution<Held> =
  | { readonly ok: true; readonly artifact: Artifact<Held> }
  | { readonly ok: false; readonly message: string };

export interface RegistryOptions<Held, Read = Manifest> {
  readonly path: string;
  /** Reads a manifest's text; may take its time. */
  readonly readManifest: (source: string) => ManifestReading<Read> | Promise<ManifestReading<Read>>;
  /** What to keep of a manifest; a promise if that takes long. */
  readonly lower: (manifest: Read) => Held | Promise<Held>;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly platform?: string;
  /** How many artifacts to remember for verified callers, if not the usual number. */
  readonly capacity?: number;
  /** Opens the artifacts. By default no descriptors are held back. */
  readonly descriptors?: SpareDescriptors;
}

/** How often a file is read if it keeps changing, before the request fails. */
const READ_ATTEMPTS = 3;

/** The result of one reading. */
interface Reading<Held> {
  readonly resolution: Resolution<Held>;
  /** Whether it is valid until its files change. That the host failed is not. */
  readonly lasting: boolean;
  /** Size of the manifest that it was made from, if anything of that is kept. */
  readonly bytes?: number;
}

export class Registry<Held, Read = Manifest> {
  readonly #options: RegistryOptions<Held, Read>;
  readonly #descriptors: SpareDescriptors;
  readonly #directory: RegistryDirectory;
  readonly #looks = perAsker(() => new OnceATurn<Resolution<Held>>());
  readonly #lanes = perAsker((asker) => new Lane(LANES[asker]));
  readonly #memories: Readonly<Record<Asker, Memory<Resolution<Held>>>>;
  readonly #shared = new Shared<Held>();

  constructor(options: RegistryOptions<Held, Read>) {
    this.#options = options;
    this.#descriptors = options.descriptors ?? new SpareDescriptors(0);
    const { path, platform = platformName(), now = Date.now, capacity = LANES.verified.kept } = options;
    const kept = (asker: Asker) => (asker === "verified" ? capacity : LANES[asker].kept);
    this.#memories = perAsker((asker) => new Memory({ ...LANES[asker], kept: kept(asker) }));
    this.#directory = { path, platform, now };
  }

  /**
   * The artifact that is there now.
   *
   * @param asker the kind of caller; a program that asks for itself has priority
   * @returns the resolution itself if it is known
   */
  resolve(coordinates: Coordinates, asker: Asker = "verified"): Resolution<Held> | Promise<Resolution<Held>> {
    const key = `${coordinates.name}/${coordinates.version}`;
    return this.#looks[asker].ask(key, () => this.#look(coordinates, key, asker));
  }

  #look(coordinates: Coordinates, key: string, asker: Asker): Resolution<Held> | Promise<Resolution<Held>> {
    const entry = this.#recall(key, asker);
    if (!entry) return this.#read(coordinates, key, asker);
    if (entry.state === "known") return entry.resolution;
    if (!entry.hasBegun() || isSettled(entry.seen, entry.seenAt)) return entry.result;
    // Its files could have changed since and kept their times. So this request waits for it, and then looks anew.
    const again = () => this.resolve(coordinates, asker);
    return entry.result.then(again, again);
  }

  /** What is known or being read, if its files have not changed. */
  #recall(key: string, asker: Asker): Entry<Resolution<Held>> | undefined {
    let isBehind = false;
    for (const owner of ASKERS) {
      const entry = this.#memories[owner].get(key);
      if (entry && isUsable(entry, isBehind) && isUnchanged(entry.seen)) {
        // A lane with priority may take over what a lower one has read, never the other way.
        if (isBehind || owner === asker) this.#memories[asker].keep(key, entry);
        return entry;
      }
      if (owner === asker) isBehind = true;
    }
    return undefined;
  }

  #read(coordinates: Coordinates, key: string, asker: Asker): Resolution<Held> | Promise<Resolution<Held>> {
    const found = locate(coordinates, this.#directory);
    if (!found.ok) return registryFault(key, found.fault);
    const memory = this.#memories[asker];
    let hasBegun = false;
    const reading = this.#lanes[asker].run(() => {
      hasBegun = true;
      return this.#readUntilStill(coordinates, key, found.place);
    });
    if (!reading) return registryFault(key, "busy; ask again");
    const result = reading.then(
      ({ resolution, lasting, seen, bytes = 0 }) => {
        memory.forget(key, entry);
        if (lasting) memory.keep(key, { state: "known", seen, resolution, bytes });
        return resolution;
      },
      (error: unknown) => {
        memory.forget(key, entry);
        throw error;
      },
    );
    const { seen, seenAt } = found.place;
    const entry: Entry<Resolution<Held>> = {
      state: "being read",
      seen,
      seenAt,
      hasBegun: () => hasBegun,
      result,
    };
    memory.keep(key, entry);
    return result;
  }

  /** Reads the files until they did not change during a reading, and returns that reading's result. */
  async #readUntilStill(
    coordinates: Coordinates,
    key: string,
    first: Place,
  ): Promise<Reading<Held> & Pick<Place, "seen">> {
    let place = first;
    for (let attempt = 1; ; attempt++) {
      const reading = await this.#readOnce(key, place);
      const { seen, seenAt, zip } = place;
      if (isUnchanged(seen)) {
        return { ...reading, lasting: reading.lasting && isSettled(seen, seenAt), seen };
      }
      const again = locate(coordinates, this.#directory);
      const fault = again.ok ? `${zip.path}: changed while it was being read` : again.fault;
      if (!again.ok || attempt === READ_ATTEMPTS) {
        return { resolution: registryFault(key, fault), lasting: false, seen };
      }
      place = again.place;
    }
  }

  async #readOnce(key: string, { zip, sidecar }: Place): Promise<Reading<Held>> {
    const promised = readSidecar(sidecar.path, this.#descriptors, sidecar.stamp);
    if (!promised.ok) return { resolution: registryFault(key, promised.fault), lasting: promised.lasting };
    const file = await inSlices(readArtifactFile(zip.path, this.#descriptors, zip.stamp));
    if (file.kind === "failed" || file.kind === "unreadable") {
      return { resolution: registryFault(key, file.fault), lasting: file.kind === "unreadable" };
    }
    if (file.sha256 !== promised.sha256) {
      const hashes = `(named ${promised.sha256}, found ${file.sha256})`;
      const fault = `${sidecar.path} names another hash than that of ${zip.path} ${hashes}`;
      return { resolution: registryFault(key, fault), lasting: true };
    }
    if (file.kind === "not-an-archive") {
      const message = `manifest extraction failed: '${key}': ${file.fault}`;
      return { resolution: { ok: false, message }, lasting: true };
    }
    const source = decodeUtf8(file.manifestText);
    const manifest = source === undefined ? NOT_UTF8 : await this.#options.readManifest(source);
    if (!manifest.ok) {
      const message = `manifest parse error: '${key}': ${manifest.fault}`;
      return { resolution: { ok: false, message }, lasting: true };
    }
    const held = this.#shared.of(file.sha256, await this.#options.lower(manifest.manifest));
    const artifact = { sha256: file.sha256, held };
    return { resolution: { ok: true, artifact }, lasting: true, bytes: file.manifestText.length };
  }
}

/** A reading in progress for a lower lane may be slow, so it is not used. One for a higher lane is. */
function isUsable({ state }: Entry<unknown>, isBehind: boolean): boolean {
  return state === "known" || !isBehind;
}

function perAsker<T>(make: (asker: Asker) => T): Readonly<Record<Asker, T>> {
  return { verified: make("verified"), listed: make("listed"), other: make("other") };
}

function registryFault(key: string, what: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message: `registry error for '${key}': ${what}` };
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // A byte order mark stays in the text, for the reader to refuse.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const NOT_UTF8 = { ok: false, fault: "the text is not valid UTF-8" } as const;

/**
 * What was made of artifacts, by the hash of their bytes, as long as anybody holds it. A session holds on to what it was
 * granted, whatever is forgotten here: a thousand sessions of one artifact must not hold it a thousand times.
 */
class Shared<Held> {
  readonly #held = new Map<Sha256, WeakRef<Held & object>>();
  readonly #forgotten = new FinalizationRegistry<Sha256>((sha256) => {
    // It may have been made again since.
    if (this.#held.get(sha256)?.deref() === undefined) this.#held.delete(sha256);
  });

  /** What is held already of these bytes, else `made`, from now on. */
  of(sha256: Sha256, made: Held): Held {
    if (!isObject(made)) return made;
    const held = this.#held.get(sha256)?.deref();
    if (held) return held;
    this.#held.set(sha256, new WeakRef(made));
    this.#forgotten.register(made, sha256);
    return made;
  }
}

function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null;
}
