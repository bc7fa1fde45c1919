/**
 * A question that many may ask in one turn of the event loop, answered by one look at its end: nobody is answered by a look
 * that is older than the question.
 *
 * Whoever asks alone is answered at once: a client that has closed its sending side never hears what comes a turn later.
 */
export class OnceATurn<Answer> {
  readonly #asked = new Map<string, Turn<Answer>>();
  /** What more than one asked in the last turn: more than one will in this. */
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
  /** The answer that is shared, once there is more than one to hear it. */
  due: Promise<Answer> | undefined;
}
