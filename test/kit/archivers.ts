/** Ordinary archivers, and what each of them makes of one folder. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

export const MANIFEST_TEXT = `name: sample\nversion: 0.1.0\n# ${"as long as one that shrinks ".repeat(4)}\n`;

/** A folder as a capsule's author has it. */
export function writeSample(folder: string): void {
  mkdirSync(join(folder, "docs"), { recursive: true });
  writeFileSync(join(folder, "murmur.yaml"), MANIFEST_TEXT);
  writeFileSync(join(folder, "docs", "größe.md"), "# Sizes\n");
  writeFileSync(join(folder, "docs", "murmur.yaml"), "name: an example\n");
  writeFileSync(join(folder, "tool.wasm"), Buffer.from("AGFzbQEAAAA=", "base64"));
  writeFileSync(join(folder, "empty"), "");
}

const PYTHON = "/usr/bin/python3";
const python = (body: string) => [PYTHON, "-c", `import zipfile, sys\n${body}`];
const EVERY_FILE = `
import os
def fill(z):
    for root, folders, files in os.walk("."):
        for name in sorted(folders + files): z.write(os.path.join(root, name))
`;
const perl = (method: string) => [
  "perl",
  "-MArchive::Zip",
  "-e",
  `my $z = Archive::Zip->new; $z->addTree(".", ""); $_->desiredCompressionMethod(${method}) for $z->members; $z->writeToFileNamed("../out.zip")`,
];
const shell = (line: string) => ["sh", "-c", line];

/** Each is run in the sample folder, and writes `../out.zip`. */
const COMMANDS: Readonly<Record<string, { readonly needs: string; readonly run: readonly string[] }>> = {
  zip: { needs: "zip", run: ["zip", "-qr", "../out.zip", "."] },
  "zip, stored": { needs: "zip", run: ["zip", "-0qr", "../out.zip", "."] },
  "zip, zip64": { needs: "zip", run: ["zip", "-qr", "-fz", "../out.zip", "."] },
  "zip, to a pipe": { needs: "zip", run: shell("zip -qr - . | cat > ../out.zip") },
  "zip, updated": {
    needs: "zip",
    run: shell("zip -q ../out.zip murmur.yaml empty && zip -qr ../out.zip . && zip -qd ../out.zip empty"),
  },
  "zip, from a FIFO": {
    needs: "zip",
    run: shell(
      "rm -r docs && mv murmur.yaml text && mkfifo murmur.yaml && (cat text > murmur.yaml &) && zip -q -FI ../out.zip murmur.yaml tool.wasm",
    ),
  },
  "zip, with a comment": { needs: "zip", run: shell("echo a comment | zip -qrz ../out.zip .") },
  "7z": {
    needs: "7z",
    run: ["7z", "a", "-bd", "-tzip", "../out.zip", "murmur.yaml", "docs", "tool.wasm", "empty"],
  },
  "7z, stored": {
    needs: "7z",
    run: ["7z", "a", "-bd", "-tzip", "-mx0", "../out.zip", "murmur.yaml", "docs"],
  },
  "7z, from standard input": {
    needs: "7z",
    run: shell("cat murmur.yaml | 7z a -bd -tzip -simurmur.yaml ../out.zip"),
  },
  bsdtar: {
    needs: "bsdtar",
    run: ["bsdtar", "-c", "--format", "zip", "-f", "../out.zip", "murmur.yaml", "docs", "tool.wasm", "empty"],
  },
  "bsdtar, to standard output": {
    needs: "bsdtar",
    run: shell("bsdtar -c --format zip murmur.yaml docs tool.wasm > ../out.zip"),
  },
  jar: { needs: "jar", run: ["jar", "cf", "../out.zip", "."] },
  "jar, no manifest of its own": { needs: "jar", run: ["jar", "cfM", "../out.zip", "."] },
  "Python, stored": {
    needs: PYTHON,
    run: python(`${EVERY_FILE}\nwith zipfile.ZipFile("../out.zip", "w") as z: fill(z)`),
  },
  "Python, deflated": {
    needs: PYTHON,
    run: python(`${EVERY_FILE}\nwith zipfile.ZipFile("../out.zip", "w", zipfile.ZIP_DEFLATED) as z: fill(z)`),
  },
  "Python, to a pipe": {
    needs: PYTHON,
    run: shell(
      `${PYTHON} -c 'import zipfile, sys
with zipfile.ZipFile(sys.stdout.buffer, "w") as z: z.write("murmur.yaml"); z.write("tool.wasm")' | cat > ../out.zip`,
    ),
  },
  "Python, zip64": {
    needs: PYTHON,
    run: python(`
with zipfile.ZipFile("../out.zip", "w") as z:
    with z.open("murmur.yaml", "w", force_zip64=True) as f: f.write(open("murmur.yaml", "rb").read())`),
  },
  "Python, appended": {
    needs: PYTHON,
    run: python(`
with zipfile.ZipFile("../out.zip", "w") as z: z.write("tool.wasm")
with zipfile.ZipFile("../out.zip", "a") as z: z.write("murmur.yaml")`),
  },
  "Perl, deflated": { needs: "perl", run: perl("8") },
  "Perl, stored": { needs: "perl", run: perl("0") },
};

export const ARCHIVERS = Object.keys(COMMANDS);

/** The archive that an archiver makes of the sample, below an empty folder; `undefined` if it is not installed. */
export function archiveBy(archiver: string, scratch: string): Buffer | undefined {
  const command = COMMANDS[archiver];
  if (!command) throw new Error(`no archiver: ${archiver}`);
  if (!Bun.which(command.needs) || (command.needs === "perl" && !hasArchiveZip())) return undefined;
  const folder = join(scratch, "sample");
  writeSample(folder);
  const { exitCode, stderr } = Bun.spawnSync([...command.run], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" },
    stdin: "ignore",
  });
  if (exitCode !== 0) throw new Error(`${archiver} ended with ${exitCode}: ${stderr}`);
  return readFileSync(join(scratch, "out.zip"));
}

function hasArchiveZip(): boolean {
  return Bun.spawnSync(["perl", "-MArchive::Zip", "-e", "1"]).exitCode === 0;
}

/** By `yazl`, which is always there. */
export async function archiveByYazl(forceZip64Format: boolean): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addEmptyDirectory("docs/");
  zip.addBuffer(Buffer.from(MANIFEST_TEXT), "murmur.yaml", { forceZip64Format });
  zip.addReadStream(Readable.from(["x"]), "tool.wasm", { forceZip64Format });
  zip.end({ forceZip64Format, comment: "packed by yazl" });
  return await buffer(zip.outputStream);
}
