/**
 * How many requests one connection may send ahead.
 *
 * The runtime answers everything that a connection has sent before it looks at the next one: two hundred connections
 * that send without waiting would keep everybody else waiting for seconds. No client of this API sends a request before
 * the last one is answered, so a connection that does is ended with an answer after a few.
 */

/** Finding a request's connection costs a microsecond, so only one request in so many is looked at. */
const REQUESTS_A_LOOK = 8;
/** Where one connection sends ahead there may be others: so many requests are all looked at. */
const REQUESTS_ON_GUARD = 1000;

export class Pipelining {
  #requests = 0;
  #onGuard = 0;
  #port: number | undefined;
  #isTurnEnding = false;

  /**
   * Two looks in a row that find the same connection within one turn of the event loop have found requests that were
   * sent ahead, two to sixteen of them: a client that waits for answers sends one a turn.
   *
   * @param portOf the caller's port, which names its connection
   * @returns whether the answer to this request must end its connection
   */
  isLast(portOf: () => number | undefined): boolean {
    if (this.#onGuard > 0) this.#onGuard--;
    else if (++this.#requests % REQUESTS_A_LOOK !== 0) return false;
    const port = portOf();
    if (port === undefined) return false;
    if (port === this.#port) {
      this.#onGuard = REQUESTS_ON_GUARD;
      return true;
    }
    this.#port = port;
    this.#forgetAfterTurn();
    return false;
  }

  #forgetAfterTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(() => {
      this.#isTurnEnding = false;
      this.#port = undefined;
    });
  }
}
