/** `THIRD-PARTY-NOTICES.txt`: what third-party code is in the executable, and its licences. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BundledPackage } from "./bundled.ts";
import { RUNTIME_LICENCE, RUNTIME_SOURCES, type RuntimePart } from "./runtime-parts.ts";

export const NOTICES = "THIRD-PARTY-NOTICES.txt";

const RULE = `\n${"=".repeat(80)}\n\n`;

/** What the executables are made of. */
export interface Contents {
  /** The version of Bun. */
  readonly runtime: string;
  readonly parts: readonly RuntimePart[];
  readonly packages: readonly BundledPackage[];
}

/** The file's text. */
export async function noticesText(contents: Contents): Promise<string> {
  const licence = async (name: string) =>
    `${name}\n\n${(await readFile(join(import.meta.dir, "licences", `${name}.txt`), "utf8")).trim()}\n`;
  return [
    introduction(),
    runtimeSection(contents, (await licence("MIT")).slice("MIT\n\n".length)),
    await licence("LGPL-2.0"),
    await licence("LGPL-2.1"),
    ...contents.packages.map(
      ({ name, version, licence: id, licenceText }) => `${name} ${version}\n${id}\n\n${licenceText}\n`,
    ),
  ].join(RULE);
}

function introduction(): string {
  return `Third-party notices

The mur-roost executable holds the work of others. Each part is named here with its version and licence. mur-roost
itself is licensed under Apache-2.0.
`;
}

function runtimeSection({ runtime, parts }: Contents, mit: string): string {
  const engine = parts.find(({ name }) => name.startsWith("JavaScriptCore"));
  const table = parts.map(
    ({ name, version, licence, sources }) => `- ${name} ${version}, ${licence}: ${sources}`,
  );
  return `Bun ${runtime}
${RUNTIME_LICENCE}

The runtime of the executable. Its sources are at ${RUNTIME_SOURCES}, tag bun-v${runtime}.

${mit}
Bun is linked with these libraries. Their licence texts are in their sources; those of the GNU Library and Lesser
General Public Licence follow.

${table.join("\n")}

${engine?.name} is under the GNU Library General Public Licence. To use a changed version of it,
build the runtime again: take the sources of Bun named above and those of the engine at commit ${engine?.version},
follow Bun's own guide to building it with a local WebKit, and compile mur-roost with the result, from its own sources
("npm run build" with that Bun).
`;
}
