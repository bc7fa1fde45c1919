/**
 * One formation, played against the real daemon over HTTP: a root registers, asks for a child, the child registers
 * under its approval and asks for a child of its own, a capsule that wants too much is refused, and all sessions retire.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAnEnd } from "../scripts/before-an-end.ts";
import { startDaemonProcess } from "../test/kit/daemon-process.ts";
import { packCapsule, publishArchive } from "../test/kit/publish.ts";
import { playDelegation, playOutcomes, VERSION } from "./acts.ts";

const say = (text = "") => process.stdout.write(`${text}\n`);

const directory = mkdtempSync(join(tmpdir(), "mur-roost-demo-"));
const remove = () => rmSync(directory, { recursive: true, force: true });
const ending = new AbortController();
const { signal } = ending;
beforeAnEnd(() => {
  ending.abort();
  remove();
});
try {
  await playFormation(join(directory, "formation"));
  say("\n———\n\nSecond act: a capsule's own runtime does the launching.\n");
  await playDelegation(join(directory, "delegation"), say, signal);
  say("\n———\n\nThird act: an orchestrator delegates to three workers, and reads what became of them.\n");
  await playOutcomes(join(directory, "outcomes"), say, signal);
} finally {
  remove();
}

async function playFormation(home: string): Promise<void> {
  const registry = join(home, ".murmur", "artifacts");
  say("Four capsules are packed into a registry in a temporary directory:\n");
  const capsules = join(import.meta.dir, "capsules");
  for (const name of readdirSync(capsules)) {
    const manifest = readFileSync(join(capsules, name, "murmur.yaml"));
    const archive = await packCapsule({ "murmur.yaml": manifest });
    const sha256 = publishArchive(registry, `local/${name}`, VERSION, archive);
    say(`  local/${name}@${VERSION}  sha256 ${sha256.slice(0, 16)}…`);
  }

  say("\nThe daemon starts. Only local/orchestrator may register without an approval:\n");
  await using daemon = await startDaemonProcess({
    command: [process.execPath, join(import.meta.dir, "..", "src", "main.ts")],
    args: ["--port", "0", "--registry-path", registry, "--spawn-allow", "local/orchestrator"],
    home,
    signal,
    onLine: (line) => line.startsWith("mur-roost:") && say(`  ${line.replaceAll(home, "~")}`),
  });
  await playExchanges(async (expected, path, body, headers = {}) => {
    const { status, answer } = await exchange(daemon.url, path, body, headers);
    if (status !== expected)
      throw new Error(`${path} was answered with status ${status}, and not ${expected}`);
    return answer;
  });
  await daemon.stop();
  say("The daemon has stopped; its keys were in memory only, so every token above is void.");
}

/** @throws {Error} if the answer's status is not the one that is told here */
type Ask = (
  status: number,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Record<string, string>>;

async function playExchanges(ask: Ask): Promise<void> {
  say("\n1. The operator starts the orchestrator: it registers, and takes a credential.\n");
  const root = await ask(200, "/register", {
    session_id: "ses_orchestrator",
    name: "local/orchestrator",
    version: VERSION,
  });
  const rootCredential = { "x-murmur-spawn-credential": root.credential ?? "" };

  say(
    "2. It asks for a researcher. Its manifest lists that capsule, and the researcher holds no more than it does.\n",
  );
  const granted = await ask(200, "/spawn", { name: "local/researcher", version: VERSION }, rootCredential);
  const approval = { "x-murmur-spawn-approval": granted.approval ?? "" };

  say("3. The researcher's own process registers under the approval that its parent passed on.\n");
  const researcher = await ask(
    200,
    "/register",
    { session_id: "ses_researcher", name: "local/researcher", version: VERSION },
    approval,
  );
  const childCredential = { "x-murmur-spawn-credential": researcher.credential ?? "" };

  say("4. The same approval a second time starts nothing.\n");
  await ask(
    403,
    "/register",
    { session_id: "ses_twin", name: "local/researcher", version: VERSION },
    approval,
  );

  say("5. The researcher asks for a child of its own: a level of depth is spent.\n");
  await ask(200, "/spawn", { name: "local/fact-checker", version: VERSION }, childCredential);
  await ask(200, "/status/ses_researcher");

  say("6. The researcher asks for a capsule that its own manifest does not list.\n");
  await ask(403, "/spawn", { name: "local/scraper", version: VERSION }, childCredential);

  say(
    "7. The orchestrator lists the scraper, but the scraper wants a host that the orchestrator does not hold.\n",
  );
  await ask(403, "/spawn", { name: "local/scraper", version: VERSION }, rootCredential);

  say("8. Everybody retires. What the researcher had been granted and did not use is free again.\n");
  await ask(200, "/deregister", { outcome: "complete" }, childCredential);
  await ask(200, "/deregister", { outcome: "complete" }, rootCredential);
  await ask(200, "/status/ses_orchestrator");
}

/** One exchange, shown as sent and received, with tokens shortened. */
async function exchange(base: string, path: string, body: unknown, headers: Record<string, string>) {
  const method = body === undefined ? "GET" : "POST";
  say(`  > ${method} ${path}`);
  for (const [name, value] of Object.entries(headers)) say(`  > ${name}: ${shorten(value)}`);
  if (body !== undefined) say(`  > ${JSON.stringify(body)}`);
  const response = await fetch(`${base}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  say(`  < ${response.status} ${text.replace(/"(ms[ac]1\.[^"]+)"/g, (_, token) => `"${shorten(token)}"`)}\n`);
  const answer: Record<string, string> = JSON.parse(text);
  return { status: response.status, answer };
}

function shorten(token: string): string {
  return `${token.slice(0, 16)}…`;
}
