/** The npm packages with code in the executable, as the bundler reports them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import lock from "../../package-lock.json" with { type: "json" };
import { ROOT } from "../compile.ts";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression from its manifest. */
  readonly licence: string;
  readonly licenceText: string;
  /** `sha512-` and the base64 of its tarball's SHA-512, from the lock file. */
  readonly integrity: string;
}

const PACKAGE = /^(?:.*\/)?(node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/**
 * The packages in a bundle, sorted by name.
 *
 * @throws {Error} if a package has no licence text, no licence in its manifest, or is not in the lock file
 */
export async function bundledPackages(metafile: Bun.BuildMetafile): Promise<BundledPackage[]> {
  const folders = new Set<string>();
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const folder = PACKAGE.exec(path)?.[1];
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
    }
  }
  const packages = await Promise.all([...folders].map(readPackage));
  return packages.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const place = join(ROOT, folder);
  const { name, version, license } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
  const file = (await readdir(place)).find((entry) => /^(licen[cs]e|copying)\b/i.test(entry));
  if (file === undefined) throw new Error(`${name} is in the executable and has no licence text`);
  if (typeof license !== "string") throw new Error(`${name} is in the executable and names no licence`);
  const locked: Readonly<Record<string, { readonly integrity?: string }>> = JSON.parse(
    JSON.stringify(lock.packages),
  );
  const integrity = locked[folder]?.integrity;
  if (integrity === undefined) throw new Error(`${name} is in the executable and is not locked`);
  const licenceText = (await readFile(join(place, file), "utf8")).trim();
  return { name, version, licence: license, licenceText, integrity };
}
