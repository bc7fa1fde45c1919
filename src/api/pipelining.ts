/**
 * How many requests one connection may send ahead.
 *
 * The runtime answers everything that a connection has sent before it looks at the next one: two hundred connections
 * that send without waiting would keep everybody else waiting for seconds. No client of this API sends a request before
 * the last one is answered, so after a few of one connection within one turn of the event loop its answer is the last.
 */

/** One is what a client sends that waits. */
const REQUESTS_A_TURN = 4;

export class Pipelining {
  #port: number | undefined;
  #requests = 0;
  #isTurnCounted = false;

  /**
   * Counts a request of the connection that comes from `port`.
   *
   * @returns whether its answer must end the connection
   */
  isLast(port: number | undefined): boolean {
    if (port !== this.#port) {
      this.#port = port;
      this.#requests = 1;
      return false;
    }
    this.#requests++;
    // Only a second request of the same connection, with no other's in between, makes it worth while to notice the end
    // of the turn.
    if (!this.#isTurnCounted) {
      this.#isTurnCounted = true;
      setImmediate(() => {
        this.#isTurnCounted = false;
        this.#requests = 0;
      });
    }
    return this.#requests >= REQUESTS_A_TURN;
  }
}
