/** How many requests a connection may send without waiting for their answers. */

/** Finding a request's connection costs a microsecond, so only one request in this many is checked. */
const REQUESTS_A_LOOK = 8;
/** After one connection sent ahead, the next requests are all checked: there may be more such connections. */
const REQUESTS_ON_GUARD = 1000;

/**
 * Limits how many requests a connection may send without waiting for answers.
 *
 * The runtime answers everything that a connection has sent before it turns to the next one, so two hundred connections
 * that do not wait would block everyone else for seconds. Clients of this API wait for each answer. A connection that
 * does not is closed after a few requests.
 */
export class Pipelining {
  #requests = 0;
  #onGuard = 0;
  #port: number | undefined;
  #isTurnEnding = false;

  /**
   * A client that waits for answers sends at most one request per turn of the event loop. So if two checks in a row find
   * the same connection within one turn, it has sent ahead: between two and sixteen requests.
   *
   * @param portOf gives the caller's port, which identifies its connection
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
