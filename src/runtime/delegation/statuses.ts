/** The status texts of a waiting task, and its other wait (API page, "How the outcome arrives"). */

/** What else the task waits for at the same time: its `call-member` calls. */
export interface AlongsideWait {
  /** The status text while something is outstanding. */
  waiting(): string | undefined;
  /** The status text once nothing is outstanding, if there is an outcome to go on with. */
  continuing(): string | undefined;
  /** Settles once nothing is outstanding. A rejection counts the same as a fulfilment. */
  readonly done: Promise<void>;
}

/** Sends a `TASK_STATE_WORKING` status. If it throws or rejects, the operator gets one line about it. */
export type Emit = (status: string) => void;

export interface Statuses {
  /** Says how many delegations are outstanding and what the other wait says; nothing if there is neither. */
  waiting(outstanding: number): void;
  /** Says that the task goes on with this many outcomes. Returns whether there is anything to go on with. */
  continuing(outcomes: number): boolean;
  /** Settles once nothing else is outstanding. Never rejects. */
  readonly alongside: Promise<void>;
}

/** Guards every call into the embedding program, so that its errors cannot lose an outcome or end the process. */
export function createStatuses(
  emit: Emit,
  alongside: AlongsideWait | undefined,
  diagnose: (line: string) => void,
): Statuses {
  const complain = (error: unknown) =>
    diagnose(`a status of a waiting task was not said: ${error instanceof Error ? error.message : error}`);
  const guarded = <T>(act: () => T): T | undefined => {
    try {
      return act();
    } catch (error) {
      complain(error);
      return undefined;
    }
  };
  const say = (own: string | undefined, other: string | undefined): boolean => {
    const texts = [own, other].filter((text) => text !== undefined);
    if (texts.length === 0) return false;
    // The type allows a function that returns a promise, so we handle its rejection too.
    const said: unknown = guarded(() => emit(texts.join("; ")));
    if (said instanceof Promise) said.catch(complain);
    return true;
  };
  return {
    waiting(outstanding) {
      const own = `waiting on delegate-task: ${outstanding} delegation(s) outstanding`;
      say(
        outstanding > 0 ? own : undefined,
        guarded(() => alongside?.waiting()),
      );
    },
    continuing(outcomes) {
      const own = `continuing with ${outcomes} delegation outcome(s)`;
      return say(
        outcomes > 0 ? own : undefined,
        guarded(() => alongside?.continuing()),
      );
    },
    alongside: Promise.resolve(alongside?.done).catch(complain),
  };
}
