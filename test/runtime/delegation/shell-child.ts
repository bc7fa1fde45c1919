/**
 * A child for tests that costs little: a shell script that keeps the contract of a delegated child as far as its parent
 * looks, without registering. It serves no door of its own; the test's process serves one for it.
 */

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Lines of a script that a child runs, its lifeline in descriptor 3. */
export function writeChild(home: string, name: string, ...lines: readonly string[]): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${lines.join("\n")}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** What every child begins with: its approval is read, its delegation, session id and records directory are known. */
export const PRELUDE = [
  "read -r approval",
  `delegation="\${MURMUR_SPAWNER##*delegation_id\\":\\"}"; delegation="\${delegation%%\\"*}"`,
  `session="ses_\${delegation#dlg_}"; records="$HOME/.murmur/records$(pwd -P)/$session"`,
  'mkdir -p "$records/out"',
];

/** The first line; `door` is `host:port`. */
export function says(door: string): string {
  return `printf '{"session_id":"%s","url":"%s","records_dir":"%s"}\\n' "$session" '${door}' "$records"`;
}

/** Writes the child's own record; `status` and what of it was delivered. */
export function records(status: string): string {
  const format =
    '{"delegation_id":"%s","session_id":"%s","status":"%s","duration_ms":1,"detail":"its own words","delivered":false}';
  return `printf '${format}' "$delegation" "$session" ${status} > "$records/completion.json"`;
}

/** Goes on until its lifeline ends, and starts nothing meanwhile. */
export const STAY = "read -r nothing <&3";
