/**
 * The demo's third act: an orchestrator delegates to three workers. One is refused by the envelope, one crashes, one
 * answers. The text that comes back is what a model would read.
 */

import { join } from "node:path";
import { play, VERSION } from "./act.ts";

const sources = join(import.meta.dir, "outcomes");

const CAPSULES: Readonly<Record<string, string>> = {
  chief: "capabilities: {spawn: {allow: [local/greedy, local/unlucky, local/counter]}}",
  greedy: "capabilities: {network: {allow: [api.example.com]}}",
  unlucky: "description: Does not get far.",
  counter: "description: Counts words.",
};

/** Plays the act in `directory`, and tells it line by line. */
export async function playOutcomes(directory: string, say: (line?: string) => void): Promise<void> {
  const manifests = Object.entries(CAPSULES).map(([name, body]) => {
    return [name, `name: ${name}\nversion: ${VERSION}\n${body}\n`] as const;
  });
  const { told, shorten } = await play({
    directory,
    manifests: Object.fromEntries(manifests),
    root: { name: "chief", program: join(sources, "chief.ts") },
    childProgram: join(sources, "worker.ts"),
    // The outcome contains what a worker writes there.
    stderr: "ignore",
  });
  for (const line of told.trimEnd().split("\n")) say(`  ${shorten(line)}`);
}
