/** Limits how many of a kind pass per second. The others are counted, and the count is reported after the second. */

const WINDOW_MS = 1000;

export class RateLimit {
  #admitted = 0;
  #refused = 0;
  #isOpen = false;

  /**
   * @param limit how many are let through in a second
   * @param tell gets the number held back, at most once a second
   * @param after runs an action after a number of milliseconds
   */
  constructor(
    readonly limit: number,
    readonly tell: (count: number) => void,
    readonly after: (ms: number, action: () => void) => void = (ms, action) => {
      setTimeout(action, ms).unref();
    },
  ) {}

  admits(): boolean {
    // The second starts with the first event, so no timer runs while nothing happens.
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.after(WINDOW_MS, () => this.close());
    }
    if (this.#admitted < this.limit) {
      this.#admitted++;
      return true;
    }
    this.#refused++;
    return false;
  }

  /** Ends the second now. */
  close(): void {
    const count = this.#refused;
    this.#isOpen = false;
    this.#admitted = this.#refused = 0;
    if (count > 0) this.tell(count);
  }
}
