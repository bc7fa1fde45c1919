/** The executable's components as a CycloneDX document, for tools that look for known vulnerabilities. */
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import type { Contents } from "./notices.ts";
import { RUNTIME_LICENCE, RUNTIME_SOURCES } from "./runtime-parts.ts";

/** The file's name in a release. */
export function billOfMaterialsName(version: string): string {
  return `mur-roost-${version}.cdx.json`;
}

/** The document's text. It has no time and no serial number, so the same contents give the same bytes. */
export function billOfMaterialsText(version: string, { runtime, parts, packages }: Contents): string {
  const { Application, Framework, Library } = Enums.ComponentType;
  const daemon = component(Application, "mur-roost", version, "Apache-2.0");
  const bom = new Models.Bom({ metadata: new Models.Metadata({ component: daemon }) });
  const bun = component(Framework, "bun", runtime, RUNTIME_LICENCE);
  bun.purl = `pkg:github/oven-sh/bun@bun-v${runtime}`;
  addSources(bun, RUNTIME_SOURCES);
  bom.components.add(bun);
  daemon.dependencies.add(bun.bomRef);
  for (const part of parts) {
    const library = component(Library, part.name, part.version, part.licence);
    addSources(library, part.sources);
    bom.components.add(library);
    bun.dependencies.add(library.bomRef);
  }
  for (const { name, version: release, licence, integrity } of packages) {
    const library = component(Library, name, release, licence);
    library.purl = `pkg:npm/${name.replace("@", "%40")}@${release}`;
    library.hashes.set(Enums.HashAlgorithm["SHA-512"], hexOf(integrity));
    bom.components.add(library);
    daemon.dependencies.add(library.bomRef);
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function component(
  type: Enums.ComponentType,
  name: string,
  version: string,
  licence: string,
): Models.Component {
  return new Models.Component(type, name, {
    version,
    bomRef: `${name}@${version}`,
    licenses: new Models.LicenseRepository([new Models.SpdxLicense(licence)]),
  });
}

function addSources(to: Models.Component, url: string): void {
  to.externalReferences.add(new Models.ExternalReference(url, Enums.ExternalReferenceType.VCS));
}

/** The hex digest in a Subresource Integrity value. */
function hexOf(integrity: string): string {
  return Buffer.from(integrity.slice(integrity.indexOf("-") + 1), "base64").toString("hex");
}
