/**
 * The demo's second act: a parent in TypeScript delegates to a child process through the library. The child starts in
 * a copy of the parent's work folder; what it changes there does not reach the parent's.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDaemonProcess } from "./daemon-process.ts";
import { packCapsule, publishArchive } from "./publish.ts";

const VERSION = "1.0.0";
const sources = join(import.meta.dir, "delegation");

/** Plays the act in `directory`, which is to be the home of everybody in it, and tells it line by line. */
export async function playDelegation(directory: string, say: (line?: string) => void): Promise<void> {
  const home = join(directory, "home");
  const project = join(directory, "project");
  const registry = join(home, ".murmur", "artifacts");
  for (const capsule of ["lead", "reviewer"]) {
    const manifest = readFileSync(join(sources, `${capsule}.yaml`));
    publishArchive(registry, `local/${capsule}`, VERSION, await packCapsule({ "murmur.yaml": manifest }));
  }
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "plan.md"), "TODO find a name\nTODO write it down\n");
  writeFileSync(join(project, "notes.md"), "nothing here\n");
  const reviewer = join(directory, "reviewer");
  await compile(join(sources, "child.ts"), reviewer);
  const daemon = await startDaemonProcess({
    command: [process.execPath, join(import.meta.dir, "..", "src", "main.ts")],
    args: ["--port", "0", "--spawn-allow", "local/lead"],
    home,
  });
  const shorten = (text: string) => text.replaceAll(home, "~").replaceAll(directory, "…");

  say("A lead runs in its project. It asks for a reviewer, and its own runtime starts it:\n");
  const command = [process.execPath, "--no-env-file", join(sources, "parent.ts"), "run"];
  const parent = Bun.spawn(
    [...command, "--capsule", "local/lead", "--capsule-version", VERSION, "--workdir", project],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: home,
        MURMUR_ROOST_URL: daemon.url,
        MURMUR_MUR_BINARY: reviewer,
      },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const told = await new Response(parent.stdout).text();
  for (const line of told.trimEnd().split("\n")) say(`  ${shorten(line)}`);
  await parent.exited;

  const child = / in (\/.*)\n/.exec(told)?.[1];
  if (child) {
    say("\nThe reviewer's own folder, a copy that it has changed:\n");
    for (const file of readdirSync(child)) say(`  ${shorten(join(child, file))}`);
    say(`\n  plan.md: ${quote(join(child, "plan.md"))}`);
  }
  say("\nThe lead's folder, which nobody has touched:\n");
  for (const file of readdirSync(project)) say(`  ${shorten(join(project, file))}`);
  say(`\n  plan.md: ${quote(join(project, "plan.md"))}`);
  await daemon.stop();
}

function quote(path: string): string {
  return JSON.stringify(readFileSync(path, "utf8"));
}

/** A program of its own, which reads no `.env` and no `bunfig.toml` of the folder that it is started in. */
export async function compile(source: string, outfile: string): Promise<void> {
  const autoloads = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const build = Bun.spawn(
    [process.execPath, "build", "--compile", ...autoloads, source, "--outfile", outfile],
    { cwd: join(outfile, ".."), stdio: ["ignore", "ignore", "pipe"] },
  );
  const said = await new Response(build.stderr).text();
  if ((await build.exited) !== 0) throw new Error(said);
}
