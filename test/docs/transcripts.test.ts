/** The console sessions in the documents, run in order against the compiled daemon. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, documents, placeOf, ROOT } from "../kit/documents.ts";
import { createHost, type Host } from "../kit/host.ts";
import { packCapsule, publishArchive } from "../kit/publish.ts";

setDefaultTimeout(120_000);

interface Exchange {
  readonly place: string;
  readonly command: string;
  /** What the document shows below the command. */
  readonly shown: string;
}

/** A `console` block is commands after `$ `, each with what it prints. */
function exchangesOf(document: (typeof all)[number]): Exchange[] {
  return blocksOf(document)
    .filter(({ language }) => language === "console")
    .flatMap((block) =>
      block.text
        .split(/^\$ /m)
        .filter((part) => part.trim() !== "")
        .map((part) => {
          const [command = "", ...shown] = part.trimEnd().split("\n");
          return { place: placeOf(block), command, shown: shown.join("\n") };
        }),
    );
}

/** What differs from run to run: tokens, hashes, times, addresses and the size of the machine. */
function settled(text: string, home: string): string {
  return text
    .trimEnd()
    .replaceAll(home, "/home/you")
    .replace(/(ms[ac]1\.)[^"…]*…?/g, "$1…")
    .replace(/\b[0-9a-f]{64}\b/g, "<sha256>")
    .replace(/"expires_at_ms":\d+/g, '"expires_at_ms":<time>')
    .replace(/\b\d+\.\d ms\b/g, "<duration>")
    .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:7700")
    .replace(/machine ceiling \d+/g, "machine ceiling <number>");
}

async function publishExamples(host: Host): Promise<void> {
  const capsules = join(ROOT, "examples/capsules");
  for (const name of readdirSync(capsules)) {
    const manifest = readFileSync(join(capsules, name, "murmur.yaml"));
    publishArchive(host.registry, `local/${name}`, "1.0.0", await packCapsule({ "murmur.yaml": manifest }));
  }
}

/**
 * The shell variables of a reader who plays along: `$u` is the daemon; the first credential is `$credential`, that of a
 * child goes by the child's bare name; `$approval` is the last one.
 */
function remember(variables: Record<string, string>, command: string, printed: string): void {
  const answer = printed.startsWith("{") ? JSON.parse(printed) : {};
  if (answer.approval) variables.approval = answer.approval;
  const capsule = /"name":"[^/"]+\/([^"]+)"/.exec(command)?.[1] ?? "";
  if (answer.credential) variables[variables.credential ? capsule : "credential"] = answer.credential;
}

const all = documents();
const played = all.filter((document) => exchangesOf(document).length > 0);

test("some documents show exchanges", () => {
  expect(played.length).toBeGreaterThan(0);
});

test.each(played.map((document) => [document.path, document] as const))(
  "the exchanges in %s match the real ones",
  async (_, document) => {
    await using host = createHost();
    const starts: Exchange[] = [];
    const requests: Exchange[] = [];
    for (const exchange of exchangesOf(document)) {
      const program = exchange.command.split(" ", 1)[0] ?? "";
      expect([exchange.place, ["mur-roost", "curl"].includes(program)]).toEqual([exchange.place, true]);
      (program === "curl" ? requests : starts).push(exchange);
    }
    // A registry, and nothing that runs yet.
    mkdirSync(host.registry, { recursive: true });
    for (const { place, command, shown } of starts) {
      const daemon = await host.start(command.split(" ").slice(1));
      expect([place, settled(daemon.stderr(), host.home)]).toEqual([place, settled(shown, host.home)]);
      await daemon.stop();
    }
    await publishExamples(host);
    const daemon = await host.start(["--spawn-allow", "local/orchestrator"]);
    const variables: Record<string, string> = { PATH: process.env.PATH ?? "", u: daemon.url };
    for (const { place, command, shown } of requests) {
      const { stdout, exitCode } = Bun.spawnSync(["bash", "-u", "-c", command], { env: variables });
      const printed = stdout.toString();
      expect([place, exitCode, settled(printed, host.home)]).toEqual([place, 0, settled(shown, host.home)]);
      remember(variables, command, printed);
    }
  },
);
