/**
 * Sessions that have ended, and whose children have too: how each ended and its depth, kept as long as the daemon runs.
 *
 * There may be millions of them and they never change, so they are kept outside the garbage-collected heap, in tables
 * that are never copied: when one is full, the next is twice as large. An id is stored as 128 bits of a salted hash, so
 * that nobody can choose ids that collide.
 *
 * A `Map` moves all its entries at once when it grows. On the way to a million sessions its longest single step took 400
 * to 570 ms, and this one's 16 to 56 ms (five runs on a busy two-core virtual machine, 30 November 2026).
 */

/** How a session ended, as it reported it. */
export type Outcome = "complete" | "failed";

interface FinishedSession {
  readonly status: Outcome;
  readonly depth: number;
}

const FIRST_CAPACITY = 1024;
const ID_WORDS = 4;
const DEPTH = ID_WORDS;
const OUTCOME = ID_WORDS + 1;
const ENTRY_WORDS = ID_WORDS + 2;

/** Outcomes by their number in a table. 0 marks a free entry. */
const OUTCOMES: readonly (Outcome | undefined)[] = [undefined, "complete", "failed"];

/** A hash table with open addressing, at most three quarters full. An entry is the id's four words, depth and outcome. */
interface Table {
  readonly words: Uint32Array;
  readonly capacity: number;
  count: number;
}

const digestBytes = new Uint8Array(32);
const digest = new Uint32Array(digestBytes.buffer);
/** The part of it that stands for an id. */
const idWords = digest.subarray(0, ID_WORDS);

export class FinishedSessions {
  readonly #tables: Table[] = [];
  readonly #salt = crypto.randomUUID();

  /** The id must be new here. */
  add(id: string, { status, depth }: FinishedSession): void {
    this.#digest(id);
    const table = this.#tableWithRoom();
    const at = place(table);
    table.words.set(idWords, at);
    table.words[at + DEPTH] = depth;
    table.words[at + OUTCOME] = OUTCOMES.indexOf(status);
    table.count++;
  }

  find(id: string): FinishedSession | undefined {
    this.#digest(id);
    for (const table of this.#tables) {
      const at = place(table);
      const status = OUTCOMES[wordOf(table.words, at + OUTCOME)];
      if (status !== undefined) return { status, depth: wordOf(table.words, at + DEPTH) };
    }
    return undefined;
  }

  #digest(id: string): void {
    Bun.SHA256.hash(this.#salt + id, digestBytes);
  }

  #tableWithRoom(): Table {
    const last = this.#tables.at(-1);
    if (last && last.count < last.capacity * 0.75) return last;
    const capacity = FIRST_CAPACITY * 2 ** this.#tables.length;
    const table = { words: new Uint32Array(capacity * ENTRY_WORDS), capacity, count: 0 };
    this.#tables.push(table);
    return table;
  }
}

/** Where the entry for the id in `digest` begins, or the free entry it would take. */
function place({ words, capacity }: Table): number {
  let slot = wordOf(idWords, 0) & (capacity - 1);
  for (;;) {
    const at = slot * ENTRY_WORDS;
    if (words[at + OUTCOME] === 0 || isAt(words, at)) return at;
    slot = (slot + 1) & (capacity - 1);
  }
}

function isAt(words: Uint32Array, at: number): boolean {
  for (let word = 0; word < ID_WORDS; word++) if (words[at + word] !== idWords[word]) return false;
  return true;
}

/** `at` is always inside the array; the cast tells the compiler. */
function wordOf(words: Uint32Array, at: number): number {
  return words[at] as number;
}
