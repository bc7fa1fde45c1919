/**
 * An empty project with the package in it, as `npm install` of its tarball leaves it. Nothing is fetched: the package
 * is packed from this repository, and its dependencies are copied from where `npm ci` put them.
 */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./documents.ts";

/** What `npm pack` says of the tarball. */
export interface Packed {
  readonly path: string;
  /** Bytes of all files together. */
  readonly unpackedSize: number;
  readonly files: readonly string[];
}

/** Packs the package into `folder`, as for a release: npm builds the library first. */
export async function packPackage(folder: string): Promise<Packed> {
  const told = await run(["npm", "pack", "--json", "--pack-destination", folder], ROOT);
  const [packed] = JSON.parse(told) as [
    { filename: string; unpackedSize: number; files: readonly { path: string }[] },
  ];
  return {
    path: join(folder, packed.filename),
    unpackedSize: packed.unpackedSize,
    files: packed.files.map(({ path }) => path),
  };
}

/** Unpacks the package into a project at `folder`, with what its manifest asks for and no other package. */
export async function installPackage({ path }: Packed, folder: string): Promise<void> {
  const place = join(folder, "node_modules", "mur-roost");
  mkdirSync(place, { recursive: true });
  await run(["tar", "-xzf", path, "-C", place, "--strip-components=1"], folder);
  writeFileSync(join(folder, "package.json"), '{"name": "consumer", "private": true, "type": "module"}\n');
  for (const name of closureOf(join(place, "package.json"))) copyPackage(name, folder);
  installTypes(folder);
}

/** What a program on Bun is type-checked with: `@types/bun` is these two files beside `bun-types`. */
function installTypes(folder: string): void {
  for (const name of ["bun-types", ...closureOf(join(ROOT, "node_modules", "bun-types", "package.json"))]) {
    copyPackage(name, folder);
  }
  const types = join(folder, "node_modules", "@types", "bun");
  mkdirSync(types, { recursive: true });
  writeFileSync(join(types, "package.json"), '{"name": "@types/bun", "types": "./index.d.ts"}\n');
  writeFileSync(join(types, "index.d.ts"), '/// <reference types="bun-types" />\n');
}

function copyPackage(name: string, folder: string): void {
  cpSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The names of all packages that npm installs for this one. */
function closureOf(manifestPath: string, found = new Set<string>()): Set<string> {
  const manifest: Manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
  const optional = manifest.peerDependenciesMeta ?? {};
  const peers = Object.keys(manifest.peerDependencies ?? {}).filter((name) => !optional[name]?.optional);
  for (const name of [...Object.keys(manifest.dependencies ?? {}), ...peers]) {
    if (found.has(name)) continue;
    found.add(name);
    closureOf(join(ROOT, "node_modules", name, "package.json"), found);
  }
  return found;
}

/** Runs a command to its end. If it fails, its output is the error. */
export async function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) === 0) return stdout;
  throw new Error(
    `${command.join(" ")} ended with ${child.signalCode ?? child.exitCode}:\n${stdout}${stderr}`,
  );
}
