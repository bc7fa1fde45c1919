/** What a script must undo if it is interrupted. */

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
