/** What a script must undo if it is interrupted. */

import { mkdtempSync, rmSync } from "node:fs";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls `act` before a signal ends this process. Returns what undoes that. */
export function beforeAnEnd(act: () => void): () => void {
  const end = (_: NodeJS.Signals, number: number) => {
    act();
    process.exit(128 + number);
  };
  for (const signal of SIGNALS) process.on(signal, end);
  return () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
}

/** A new folder, which is removed when it is disposed of or a signal ends this process. */
export function temporaryFolder(prefix: string): Disposable & { readonly path: string } {
  let path = "";
  const remove = () => {
    if (path !== "") rmSync(path, { recursive: true, force: true });
  };
  // Heard before there is a folder, so that none is ever left.
  const forgetSignals = beforeAnEnd(remove);
  path = mkdtempSync(prefix);
  return {
    path,
    [Symbol.dispose]() {
      remove();
      forgetSignals();
    },
  };
}
