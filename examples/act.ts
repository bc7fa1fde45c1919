/** What two acts of the demo share: a root that runs in its project, a daemon, and children that the root launches. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../test/kit/compile-program.ts";
import { startDaemonProcess } from "../test/kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";

export const VERSION = "1.0.0";

export interface Act {
  /** Becomes the home of all processes in the act. */
  readonly directory: string;
  /** The manifests of the capsules, by bare name. Their scope is `local`, their version `VERSION`. */
  readonly manifests: Readonly<Record<string, string | Uint8Array>>;
  /** The top-level capsule, and its program. */
  readonly root: { readonly name: string; readonly program: string };
  /** The program of the children. */
  readonly childProgram: string;
  /** The files in the root's work folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where the root's standard error goes. */
  readonly stderr: "inherit" | "ignore";
}

export interface Played {
  /** What the root wrote to its standard output. */
  readonly told: string;
  /** The root's work folder. */
  readonly project: string;
  /** Shortens the act's paths in a text. */
  shorten(text: string): string;
}

/** Publishes the capsules, starts the daemon, and runs the root to its end. */
export async function play({
  directory,
  manifests,
  root,
  childProgram,
  files = {},
  stderr,
}: Act): Promise<Played> {
  const home = join(directory, "home");
  const project = join(directory, "project");
  const registry = join(home, ".murmur", "artifacts");
  for (const [name, manifest] of Object.entries(manifests)) {
    publishArchive(registry, `local/${name}`, VERSION, await packCapsule({ "murmur.yaml": manifest }));
  }
  mkdirSync(project, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(project, name), content);
  const child = join(directory, "child");
  await compile(childProgram, child);
  const daemon = await startDaemonProcess({
    command: [process.execPath, join(import.meta.dir, "..", "src", "main.ts")],
    args: ["--port", "0", "--spawn-allow", `local/${root.name}`],
    home,
  });
  const command = [process.execPath, "--no-env-file", root.program, "run"];
  const running = Bun.spawn(
    [...command, "--capsule", `local/${root.name}`, "--capsule-version", VERSION, "--workdir", project],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: home,
        MURMUR_ROOST_URL: daemon.url,
        MURMUR_MUR_BINARY: child,
      },
      stdio: ["ignore", "pipe", stderr],
    },
  );
  const told = await new Response(running.stdout).text();
  await running.exited;
  await daemon.stop();
  return { told, project, shorten: (text) => text.replaceAll(home, "~").replaceAll(directory, "…") };
}
