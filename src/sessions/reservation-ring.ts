/**
 * Reservations in the order they were made, outside the garbage-collected heap.
 *
 * Each of them outlives many collections and changes with every request, so as objects in a map they would be walked
 * again and again by the collector: what a spawn costs would grow with what is reserved. Here they are numbers in a
 * ring, 37 bytes each, found by the approval's id through chains that run from newer to older ones. A chain is never
 * repaired: it ends where it reaches what has left the ring.
 */

const FIRST_CAPACITY = 1024;
/** An approval's id: 16 random bytes, so any part of it is as good as a hash. */
const ID_BYTES = 16;
const ID_WORDS = ID_BYTES / 4;

const SPENT = 1;
const FREED = 2;

interface Columns {
  readonly ids: Uint32Array;
  /** Monotonic milliseconds. */
  readonly expiries: Float64Array;
  readonly holders: Uint32Array;
  readonly flags: Uint8Array;
  /** The next older reservation of the same bucket: its ordinal's lower 32 bits, as in all links. */
  readonly older: Uint32Array;
  /** The newest reservation of each bucket. */
  readonly newest: Uint32Array;
}

function columns(capacity: number): Columns {
  return {
    ids: new Uint32Array(capacity * ID_WORDS),
    expiries: new Float64Array(capacity),
    holders: new Uint32Array(capacity),
    flags: new Uint8Array(capacity),
    older: new Uint32Array(capacity),
    newest: new Uint32Array(capacity),
  };
}

const wanted = new Uint32Array(ID_WORDS);
const wantedBytes = Buffer.from(wanted.buffer);

/** A reservation's place in line: 1 for the first that was ever made. 0 is none. */
export type Ordinal = number;

export class ReservationRing {
  #capacity = FIRST_CAPACITY;
  #columns = columns(FIRST_CAPACITY);
  #oldest: Ordinal;
  #next: Ordinal;

  /** @param first the first ordinal, 1 or more */
  constructor(first: Ordinal = 1) {
    this.#oldest = first;
    this.#next = first;
  }

  /** @param id 32 hex digits */
  push(id: string, holder: number, expiry: number): void {
    const count = this.#next - this.#oldest;
    if (count === this.#capacity) this.#resize(this.#capacity * 2);
    wantedBytes.write(id, "hex");
    const { ids, expiries, holders, flags } = this.#columns;
    const at = this.#at(this.#next);
    ids.set(wanted, at * ID_WORDS);
    expiries[at] = expiry;
    holders[at] = holder;
    flags[at] = 0;
    this.#link(this.#next++);
  }

  /** The reservation of an approval, or 0. */
  find(id: string): Ordinal {
    wantedBytes.write(id, "hex");
    const { older, newest } = this.#columns;
    let ordinal = this.#linked(newest[this.#at(wanted[0] ?? 0)] ?? 0);
    while (ordinal !== 0 && !this.#isWanted(ordinal)) {
      const next = this.#linked(older[this.#at(ordinal)] ?? 0);
      // A link from 2^32 reservations ago may name one of today's: nothing older is left then.
      ordinal = next < ordinal ? next : 0;
    }
    return ordinal;
  }

  /** The oldest one, where it expires by `now`; else 0. */
  expired(now: number): Ordinal {
    if (this.#oldest === this.#next) return 0;
    return (this.#columns.expiries[this.#at(this.#oldest)] ?? 0) <= now ? this.#oldest : 0;
  }

  /** Forgets the oldest one. */
  shift(): void {
    this.#oldest++;
    const count = this.#next - this.#oldest;
    if (this.#capacity > FIRST_CAPACITY && count <= this.#capacity / 8) this.#resize(this.#capacity / 4);
  }

  holder(ordinal: Ordinal): number {
    return this.#columns.holders[this.#at(ordinal)] ?? 0;
  }

  /** Whether this call was the one that spent it. */
  spend(ordinal: Ordinal): boolean {
    return this.#raise(ordinal, SPENT);
  }

  /** Whether this call was the one that freed its slot. */
  free(ordinal: Ordinal): boolean {
    return this.#raise(ordinal, FREED);
  }

  #raise(ordinal: Ordinal, flag: number): boolean {
    const { flags } = this.#columns;
    const at = this.#at(ordinal);
    const before = flags[at] ?? 0;
    flags[at] = before | flag;
    return (before & flag) === 0;
  }

  #isWanted(ordinal: Ordinal): boolean {
    const { ids } = this.#columns;
    const at = this.#at(ordinal) * ID_WORDS;
    return wanted.every((word, index) => word === ids[at + index]);
  }

  #at(ordinal: Ordinal): number {
    return ordinal & (this.#capacity - 1);
  }

  /** The reservation that a link leads to, or 0 where that has left the ring. */
  #linked(link: number): Ordinal {
    const age = (this.#next - link) >>> 0;
    return age > 0 && age <= this.#next - this.#oldest ? this.#next - age : 0;
  }

  #link(ordinal: Ordinal): void {
    const { ids, older, newest } = this.#columns;
    const at = this.#at(ordinal);
    const bucket = this.#at(ids[at * ID_WORDS] ?? 0);
    older[at] = newest[bucket] ?? 0;
    newest[bucket] = ordinal;
  }

  #resize(capacity: number): void {
    const before = this.#columns;
    const placeBefore = this.#capacity - 1;
    this.#capacity = capacity;
    this.#columns = columns(capacity);
    const { ids, expiries, holders, flags } = this.#columns;
    for (let ordinal = this.#oldest; ordinal < this.#next; ordinal++) {
      const from = ordinal & placeBefore;
      const to = this.#at(ordinal);
      ids.set(before.ids.subarray(from * ID_WORDS, (from + 1) * ID_WORDS), to * ID_WORDS);
      expiries[to] = before.expiries[from] ?? 0;
      holders[to] = before.holders[from] ?? 0;
      flags[to] = before.flags[from] ?? 0;
      this.#link(ordinal);
    }
  }
}
