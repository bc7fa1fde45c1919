/**
 * The demo's second act: a parent in TypeScript delegates to a child process through the library. The child starts in
 * a copy of the parent's work folder, so its changes do not reach the parent's.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { play } from "./act.ts";

const sources = join(import.meta.dir, "delegation");

/** Plays the act in `directory`, which becomes the home of all its processes, and tells it line by line. */
export async function playDelegation(directory: string, say: (line?: string) => void): Promise<void> {
  say("A lead runs in its project. It asks for a reviewer, and its own runtime starts it:\n");
  const { told, project, shorten } = await play({
    directory,
    manifests: {
      lead: readFileSync(join(sources, "lead.yaml")),
      reviewer: readFileSync(join(sources, "reviewer.yaml")),
    },
    root: { name: "lead", program: join(sources, "parent.ts") },
    childProgram: join(sources, "child.ts"),
    files: { "plan.md": "TODO find a name\nTODO write it down\n", "notes.md": "nothing here\n" },
    stderr: "inherit",
  });
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
