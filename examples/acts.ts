/** The demo's second and third act: a root runs in its project, beside a daemon, and launches its children itself. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../test/kit/compile-program.ts";
import { startDaemonProcess } from "../test/kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";

export const VERSION = "1.0.0";

const delegation = join(import.meta.dir, "delegation");
const outcomes = join(import.meta.dir, "outcomes");

/**
 * The second act: a parent in TypeScript delegates to a child process through the library. The child starts in a copy of
 * the parent's work folder, so its changes do not reach the parent's.
 *
 * Plays the act in `directory`, which becomes the home of all its processes, and tells it line by line.
 */
export async function playDelegation(
  directory: string,
  say: (line?: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  say("A lead runs in its project. It asks for a reviewer, and its own runtime starts it:\n");
  const { told, project, shorten } = await play({
    directory,
    manifests: {
      lead: readFileSync(join(delegation, "lead.yaml")),
      reviewer: readFileSync(join(delegation, "reviewer.yaml")),
    },
    root: { name: "lead", program: join(delegation, "parent.ts") },
    childProgram: join(delegation, "child.ts"),
    files: { "plan.md": "TODO find a name\nTODO write it down\n", "notes.md": "nothing here\n" },
    stderr: "inherit",
    ...(signal && { signal }),
  });
  if (!told.includes("it ended: exit status: 0\n"))
    throw new Error(`the reviewer did not do its work: ${told}`);
  for (const line of told.trimEnd().split("\n")) say(`  ${shorten(line)}`);

  const child = / in (\/.*)\n/.exec(told)?.[1];
  if (child) {
    say("\nThe reviewer's own folder, a copy that it has changed:\n");
    for (const file of readdirSync(child)) say(`  ${shorten(join(child, file))}`);
    say(`\n  plan.md: ${quote(join(child, "plan.md"))}`);
  }
  say("\nThe lead's folder, which has not changed:\n");
  for (const file of readdirSync(project)) say(`  ${shorten(join(project, file))}`);
  say(`\n  plan.md: ${quote(join(project, "plan.md"))}`);
}

function quote(path: string): string {
  return JSON.stringify(readFileSync(path, "utf8"));
}

const CAPSULES: Readonly<Record<string, string>> = {
  chief: "capabilities: {spawn: {allow: [local/greedy, local/unlucky, local/counter]}}",
  greedy: "capabilities: {network: {allow: [api.example.com]}}",
  unlucky: "description: Does not get far.",
  counter: "description: Counts words.",
};

/**
 * The third act: an orchestrator delegates to three workers. One is refused by the envelope, one crashes, one answers. The
 * text that comes back is what a model would read.
 */
export async function playOutcomes(
  directory: string,
  say: (line?: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const manifests = Object.entries(CAPSULES).map(([name, body]) => {
    return [name, `name: ${name}\nversion: ${VERSION}\n${body}\n`] as const;
  });
  const { told, shorten } = await play({
    directory,
    manifests: Object.fromEntries(manifests),
    root: { name: "chief", program: join(outcomes, "chief.ts") },
    childProgram: join(outcomes, "worker.ts"),
    // The outcome contains what a worker writes there.
    stderr: "ignore",
    ...(signal && { signal }),
  });
  for (const line of told.trimEnd().split("\n")) say(`  ${shorten(line)}`);
}

interface Act {
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
  /** Kills the act's daemon and its root. */
  readonly signal?: AbortSignal;
}

interface Played {
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
  signal,
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
  await using daemon = await startDaemonProcess({
    command: [process.execPath, join(import.meta.dir, "..", "src", "main.ts")],
    args: ["--port", "0", "--spawn-allow", `local/${root.name}`],
    home,
    ...(signal && { signal }),
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
      ...(signal && { signal, killSignal: "SIGKILL" }),
    },
  );
  const told = await new Response(running.stdout).text();
  const status = await running.exited;
  if (status !== 0) throw new Error(`local/${root.name} ended with exit status ${status}`);
  return { told, project, shorten: (text) => text.replaceAll(home, "~").replaceAll(directory, "/…") };
}
