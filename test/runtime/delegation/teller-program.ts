/** A child that never registers. It says what its test tells it to, its own tokens too: `CHILD_MODE` is that as JSON. */

import { mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** In every text `$APPROVAL` and `$OPERATOR` are the tokens, `$OWN` its records directory, `$LONG` 65,530 times a y. */
export interface Tale {
  /** Where its approval is written for the test to compare with. */
  readonly keep: string;
  /** Written before anything else. */
  readonly stderr?: string;
  /** Ends it right then. */
  readonly exit?: number;
  /** What differs from an honest first line. */
  readonly line?: Readonly<Record<string, unknown>>;
  /** What its door answers; it exits after the first answer where that says so. */
  readonly status?: number;
  readonly answer: object;
  readonly exits?: boolean;
  /** What is in `completion.json` besides the ids, and in `out/result.txt`. */
  readonly record?: Readonly<Record<string, unknown>>;
  readonly result?: string;
  /** Makes its records directory only when it has its task. */
  readonly late?: boolean;
}

export const OPERATOR = "5f0c9d1e8b7a4c36b1e2f3a4d5c6b7a8";

if (import.meta.main) await tell();

async function tell(): Promise<void> {
  const approval = readFileSync(0, "utf8").trim();
  const { delegation_id } = JSON.parse(process.env.MURMUR_SPAWNER ?? "{}");
  const session = `ses_${String(delegation_id).slice(4)}`;
  const own = join(process.env.HOME ?? "", ".murmur", "records", process.cwd().slice(1), session);
  const said: Record<string, string> = {
    $APPROVAL: approval,
    $OPERATOR: OPERATOR,
    $OWN: own,
    $SESSION: session,
    $LONG: "y".repeat(65_530),
  };
  const written = JSON.stringify(JSON.parse(process.env.CHILD_MODE ?? "{}"));
  const tale: Tale = JSON.parse(written.replace(/\$[A-Z]+/g, (name) => said[name] ?? name));
  writeFileSync(tale.keep, approval);
  if (tale.stderr !== undefined) writeSync(2, tale.stderr);
  if (tale.exit !== undefined) process.exit(tale.exit);
  const record = () => {
    mkdirSync(join(own, "out"), { recursive: true });
    if (tale.result !== undefined) writeFileSync(join(own, "out", "result.txt"), tale.result);
    if (!tale.record) return;
    const whole = { delegation_id, session_id: session, status: "ok", duration_ms: 1, delivered: false };
    writeFileSync(join(own, "completion.json"), JSON.stringify({ ...whole, ...tale.record }));
  };
  if (!tale.late) record();
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      if (tale.late) record();
      response.writeHead(tale.status ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(tale.answer), () => {
        if (tale.exits) process.exit(0);
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const url = typeof address === "object" && address ? `127.0.0.1:${address.port}` : "";
  const line = { session_id: session, url, records_dir: own, tokens: { operator: OPERATOR } };
  writeSync(1, `${JSON.stringify({ ...line, ...tale.line })}\n`);
}
