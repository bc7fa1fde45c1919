/**
 * The demo's third act: an orchestrator delegates to three workers. One is refused by the envelope, one crashes, one
 * answers; what comes back is what a model would read.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startDaemonProcess } from "./daemon-process.ts";
import { compile } from "./demo-delegation.ts";
import { packCapsule, publishArchive } from "./publish.ts";

const VERSION = "1.0.0";
const sources = join(import.meta.dir, "outcomes");

const CAPSULES: Readonly<Record<string, string>> = {
  chief: "capabilities: {spawn: {allow: [local/greedy, local/unlucky, local/counter]}}",
  greedy: "capabilities: {network: {allow: [api.example.com]}}",
  unlucky: "description: Does not get far.",
  counter: "description: Counts words.",
};

/** Plays the act in `directory`, and tells it line by line. */
export async function playOutcomes(directory: string, say: (line?: string) => void): Promise<void> {
  const home = join(directory, "home");
  const project = join(directory, "project");
  const registry = join(home, ".murmur", "artifacts");
  for (const [name, body] of Object.entries(CAPSULES)) {
    const manifest = `name: ${name}\nversion: ${VERSION}\n${body}\n`;
    publishArchive(registry, `local/${name}`, VERSION, await packCapsule({ "murmur.yaml": manifest }));
  }
  mkdirSync(project, { recursive: true });
  const worker = join(directory, "worker");
  await compile(join(sources, "worker.ts"), worker);
  const daemon = await startDaemonProcess({
    command: [process.execPath, join(import.meta.dir, "..", "src", "main.ts")],
    args: ["--port", "0", "--spawn-allow", "local/chief"],
    home,
  });
  const program = [process.execPath, "--no-env-file", join(sources, "chief.ts"), "run"];
  const chief = Bun.spawn(
    [...program, "--capsule", "local/chief", "--capsule-version", VERSION, "--workdir", project],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: home,
        MURMUR_ROOST_URL: daemon.url,
        MURMUR_MUR_BINARY: worker,
      },
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const told = await new Response(chief.stdout).text();
  await chief.exited;
  for (const line of told.trimEnd().split("\n")) {
    say(`  ${line.replaceAll(home, "~").replaceAll(directory, "…")}`);
  }
  await daemon.stop();
}
