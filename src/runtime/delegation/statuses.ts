/** What a task says while it waits, and what else it waits for (API page, "How the outcome arrives"). */

/** Something else that the task waits for at the same time: its `call-member` calls. */
export interface AlongsideWait {
  /** Its status text while something is outstanding. */
  waiting(): string | undefined;
  /** Its status text once nothing is, where there is an outcome to go on with. */
  continuing(): string | undefined;
  /** Settles once nothing is outstanding; that it rejects is no different. */
  readonly done: Promise<void>;
}

/** Says a `TASK_STATE_WORKING` status. What it throws, or rejects with, is one line for the operator. */
export type Emit = (status: string) => void;

export interface Statuses {
  /** Says how many delegations are outstanding, or what the other wait says; nothing if there is neither. */
  waiting(outstanding: number): void;
  /** Says that the task goes on with so many outcomes. Returns whether there is anything to go on with. */
  continuing(outcomes: number): boolean;
  /** Settles once nothing else is outstanding. Never rejects. */
  readonly alongside: Promise<void>;
}

/** The embedding program's functions are called in a way that none of them can lose an outcome or end the process. */
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
    // A function that returns a promise is one that returns nothing, to the types.
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
