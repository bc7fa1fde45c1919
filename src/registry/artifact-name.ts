/**
 * Coordinates of an artifact: a full name, `<scope>/<name>`, and a version.
 *
 * Both are parsed once, where a request or a flag comes in. A branded value is not checked again.
 */

/** A capsule's full name, `<scope>/<name>`, each part 1 to 100 characters of `a-z 0-9 -`, no `-` at either end. */
export type ArtifactName = string & { readonly __brand: "ArtifactName" };

/** A version as one path segment: 1 to 128 characters, not `.` or `..`, without slashes or control characters. */
export type ArtifactVersion = string & { readonly __brand: "ArtifactVersion" };

/** Lowercase hex SHA-256 of an artifact's bytes, 64 characters. */
export type Sha256 = string & { readonly __brand: "Sha256" };

/** Names one artifact: a request gives them, the registry resolves them. */
export interface Coordinates {
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
}

/** `local/worker@1.0.0` */
export function coordinateText({ name, version }: Coordinates): string {
  return `${name}@${version}`;
}

const PART = "[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?";
const FULL_NAME = new RegExp(`^${PART}/${PART}$`);
// With `u` an emoji is one character, not two.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const VERSION = /^(?!\.{1,2}$)[^/\\\u0000-\u001f\u007f-\u009f]{1,128}$/u;

/** The text as a full name, or `undefined` if it is not one. */
export function parseArtifactName(text: string): ArtifactName | undefined {
  return FULL_NAME.test(text) ? (text as ArtifactName) : undefined;
}

/** The text as a version, or `undefined` if it could name anything but one directory entry. */
export function parseArtifactVersion(text: string): ArtifactVersion | undefined {
  return VERSION.test(text) && text.isWellFormed() ? (text as ArtifactVersion) : undefined;
}

/** The part of a full name after its scope: `worker` of `local/worker`. */
export function bareName(name: ArtifactName): string {
  return name.slice(name.indexOf("/") + 1);
}
