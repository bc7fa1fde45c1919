/** The registry during one inspection: each artifact is read once, a few at a time. */

import { type Envelope, lowerManifest } from "../referee/envelope.ts";
import {
  type ArtifactName,
  type Coordinates,
  coordinateText,
  parseArtifactName,
  parseArtifactVersion,
} from "../registry/artifact-name.ts";
import { readManifestInSlices } from "../registry/manifest.ts";
import { platformName } from "../registry/places.ts";
import { Registry } from "../registry/registry.ts";
import { listVersions, type VersionListing } from "../registry/versions.ts";
import { inSlices } from "../slices.ts";

/** Where to look for artifacts. */
export interface ArtifactsOptions {
  readonly registryPath: string;
  /** The platform whose artifacts are preferred, such as `linux-x86_64`; this host's by default. */
  readonly platform?: string | undefined;
}

/** An artifact that was read: its coordinate, the hash of its bytes, and what it holds. */
export interface ReadArtifact {
  /** `local/worker@1.0.0` */
  readonly capsule: string;
  readonly sha256: string;
  readonly held: Envelope;
}

type ArtifactReading =
  | { readonly ok: true; readonly artifact: ReadArtifact }
  /** The daemon's sentence for this coordinate; from `find`, perhaps what to name instead. */
  | { readonly ok: false; readonly fault: string };

/** More would only wait for the same disk, and each takes a descriptor. */
const READ_AT_ONCE = 8;

export class Artifacts {
  readonly platform: string;
  readonly #path: string;
  readonly #registry: Registry<Envelope>;
  readonly #read = new Map<string, ArtifactReading>();
  readonly #versions = new Map<ArtifactName, VersionListing>();

  constructor({ registryPath, platform = platformName() }: ArtifactsOptions) {
    this.platform = platform;
    this.#path = registryPath;
    // Nothing is read twice, so the registry need not remember anything.
    this.#registry = new Registry({
      path: registryPath,
      platform,
      capacity: 0,
      readManifest: readManifestInSlices,
      lower: (manifest) => inSlices(lowerManifest(manifest)),
    });
  }

  /** The versions of a name. They are listed at the first call. */
  versions(name: ArtifactName): VersionListing {
    let listing = this.#versions.get(name);
    if (!listing) {
      listing = listVersions(this.#path, name);
      this.#versions.set(name, listing);
    }
    return listing;
  }

  /** Reads the artifacts that were not read before. */
  async read(wanted: Iterable<Coordinates>): Promise<void> {
    const unread = new Map<string, Coordinates>();
    for (const coordinates of wanted) {
      const capsule = coordinateText(coordinates);
      if (!this.#read.has(capsule)) unread.set(capsule, coordinates);
    }
    const queue = unread.entries();
    const readOn = async () => {
      for (const [capsule, coordinates] of queue) {
        const found = await this.#registry.resolve(coordinates);
        const reading: ArtifactReading = found.ok
          ? { ok: true, artifact: { capsule, ...found.artifact } }
          : { ok: false, fault: found.message };
        this.#read.set(capsule, reading);
      }
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, readOn));
  }

  /** The result of `read`. */
  reading(coordinates: Coordinates): ArtifactReading {
    const reading = this.#read.get(coordinateText(coordinates));
    if (!reading) throw new Error(`${coordinateText(coordinates)} was not read`);
    return reading;
  }

  /** Reads the artifact named `<scope>/<name>@<version>`. */
  async find(capsule: string): Promise<ArtifactReading> {
    const at = capsule.indexOf("@");
    const name = parseArtifactName(at < 0 ? capsule : capsule.slice(0, at));
    if (!name) {
      return { ok: false, fault: `'${capsule}' is not a full name with a version, <scope>/<name>@<version>` };
    }
    if (at < 0)
      return { ok: false, fault: `${name}: name a version, ${name}@<version>; ${this.#there(name)}` };
    const version = parseArtifactVersion(capsule.slice(at + 1));
    if (!version) return { ok: false, fault: `'${capsule}': the text after the @ is not a version` };
    await this.read([{ name, version }]);
    const reading = this.reading({ name, version });
    if (reading.ok) return reading;
    const listing = this.versions(name);
    if (!listing.ok || listing.versions.includes(version)) return reading;
    return { ok: false, fault: `${reading.fault}; ${this.#there(name)}` };
  }

  #there(name: ArtifactName): string {
    const listing = this.versions(name);
    if (!listing.ok) return listing.message;
    if (listing.versions.length === 0) return `the registry ${this.#path} holds no version of ${name}`;
    return `the registry holds ${listing.versions.join(", ")}`;
  }
}
