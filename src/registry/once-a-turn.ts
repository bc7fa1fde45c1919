/**
 * Answers a question that many ask in one turn of the event loop by one look at the end of that turn. The look comes after
 * all these questions, so each request sees the registry as it is when it arrives, or later.
 *
 * A single asker is answered at once, because a client that has closed its sending side never gets an answer that comes a
 * turn later.
 */
export class OnceATurn<Answer> {
  readonly #asked = new Map<string, Turn<Answer>>();
  /** Questions asked more than once in the last turn. They are expected again in this one. */
  #crowded: ReadonlySet<string> = new Set();

  ask(question: string, look: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const turn = this.#asked.get(question) ?? this.#begin(question);
    turn.count++;
    if (turn.count === 1 && !this.#crowded.has(question)) return look();
    turn.due ??= new Promise<void>((end) => setImmediate(end)).then(look);
    return turn.due;
  }

  #begin(question: string): Turn<Answer> {
    if (this.#asked.size === 0) setImmediate(() => this.#end());
    const turn: Turn<Answer> = { count: 0, due: undefined };
    this.#asked.set(question, turn);
    return turn;
  }

  #end(): void {
    const crowded = new Set<string>();
    for (const [question, { count }] of this.#asked) if (count > 1) crowded.add(question);
    this.#crowded = crowded;
    this.#asked.clear();
  }
}

interface Turn<Answer> {
  count: number;
  /** The shared answer, once more than one has asked. */
  due: Promise<Answer> | undefined;
}
