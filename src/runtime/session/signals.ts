/** The signals that ask a session's process to end. SIGHUP says that its terminal has gone. */

import { isIgnored } from "../../sys/process.ts";

export const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export type EndSignal = (typeof SIGNALS)[number];

/**
 * Those that this process should listen for. Where SIGHUP is ignored, as under `nohup`, a listener would undo that, and
 * its removal too.
 */
export function signalsToHear(): readonly EndSignal[] {
  return isIgnored("SIGHUP") ? SIGNALS.filter((signal) => signal !== "SIGHUP") : SIGNALS;
}

const own = new WeakSet<object>();

/** Marks a listener as the library's, not the program's. */
export function asOwn<Listener extends object>(listener: Listener): Listener {
  own.add(listener);
  return listener;
}

/** Whether the program listens for it itself, and it may mean no end: at SIGHUP many only read their settings again. */
export function isLeftToProgram(signal: EndSignal): boolean {
  return signal === "SIGHUP" && process.listeners(signal).some((listener) => !own.has(listener));
}
