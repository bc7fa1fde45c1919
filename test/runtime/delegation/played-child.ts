/** A child whose process is played; its folder is real. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LaunchedChild, parseDoorUrl } from "../../../src/runtime/index.ts";
import type { ExitStatus } from "../../../src/runtime/launch/held-process.ts";
import { holdDirectory } from "../../../src/runtime/tree/held.ts";
import { coordinates } from "../parent.ts";
import { hold } from "./kit.ts";

export const CLEAN: ExitStatus = { kind: "exited", status: 0 };
export const KILLED: ExitStatus = { kind: "signaled", signal: "SIGKILL", number: 9 };

const door = parseDoorUrl("http://127.0.0.1:9");
if (!door) throw new Error("no door");
export const PLAYED_DOOR = door;

/** How a child differs from one that goes at SIGTERM. */
export interface Play {
  /** What a signal comes to; SIGKILL too, where it is given. */
  readonly onSignal?: (signal: "SIGTERM" | "SIGKILL", child: PlayedChild) => void;
  readonly launched?: Partial<LaunchedChild>;
}

export interface PlayedChild {
  readonly id: string;
  readonly launched: LaunchedChild;
  /** Its records directory. */
  readonly path: string;
  /** The signals that reached it. */
  readonly signals: string[];
  born(at: number): void;
  /** Its process ends. */
  leave(status: ExitStatus): void;
  gone(): boolean;
  released(): boolean;
  /** Writes its record, `more` in the place of what a valid one says. */
  writes(more?: Readonly<Record<string, unknown>>): void;
  answers(text: string): void;
  record(): Record<string, unknown>;
}

export function playedChild(
  root: string,
  index: number,
  { onSignal, launched: more = {} }: Play,
): PlayedChild {
  const id = `dlg_${index}`;
  const sessionId = `ses_${index}`;
  const path = join(root, id);
  mkdirSync(path);
  const exit = Promise.withResolvers<ExitStatus>();
  const workdir = holdDirectory(path, hold(path));
  const records = holdDirectory(path, hold(path));
  let gone = false;
  let released = false;
  let readyAt = 0;
  const signals: string[] = [];
  const child: PlayedChild = {
    id,
    path,
    signals,
    launched: {
      ...coordinates("local/worker"),
      delegationId: id,
      sessionId,
      door: PLAYED_DOOR,
      operatorToken: undefined,
      secrets: [],
      workdir,
      records: { ok: true, value: records },
      copy: undefined,
      pid: 0,
      get readyAt() {
        return readyAt;
      },
      exited: exit.promise,
      lastStderrLines: async () => ["a last line"],
      signal(signal) {
        if (gone) return;
        signals.push(signal);
        if (onSignal) onSignal(signal, child);
        else child.leave(signal === "SIGKILL" ? KILLED : CLEAN);
      },
      release() {
        released = true;
        workdir.close();
        records.close();
      },
      [Symbol.dispose]: () => child.launched.release(),
      ...more,
    },
    born(at) {
      readyAt = at;
    },
    leave(status) {
      gone = true;
      exit.resolve(status);
    },
    gone: () => gone,
    released: () => released,
    writes: (fields = {}) =>
      writeFileSync(
        join(path, "completion.json"),
        JSON.stringify({
          delegation_id: id,
          session_id: sessionId,
          status: "ok",
          duration_ms: 1,
          delivered: true,
          ...fields,
        }),
      ),
    answers(text) {
      mkdirSync(join(path, "out"), { recursive: true });
      writeFileSync(join(path, "out", "result.txt"), text);
    },
    record: () => JSON.parse(readFileSync(join(path, "completion.json"), "utf8")),
  };
  return child;
}
