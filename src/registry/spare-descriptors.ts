/**
 * File descriptors held back for reading artifacts, so that the daemon can still read when connections have used up all
 * others.
 */

import { closeSync, constants, openSync } from "node:fs";
import { isSystemError } from "../os-error.ts";

/** Follows a link, and does not block on a FIFO. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;

export class SpareDescriptors {
  readonly #count: number;
  readonly #held: number[] = [];

  /** @param count the most files open at once */
  constructor(count: number) {
    this.#count = count;
    this.#refill();
  }

  /**
   * Opens a file for reading. If no descriptor is free, it gives up a spare one first.
   *
   * @throws the file system's error
   */
  open(path: string): number {
    try {
      return openSync(path, READING);
    } catch (error) {
      const isShort = isSystemError(error) && (error.code === "EMFILE" || error.code === "ENFILE");
      const spare = isShort ? this.#held.pop() : undefined;
      if (spare === undefined) throw error;
      // Nothing else runs between the two.
      closeSync(spare);
      return this.#openInPlace(path);
    }
  }

  #openInPlace(path: string): number {
    try {
      return openSync(path, READING);
    } catch (error) {
      this.#refill();
      throw error;
    }
  }

  close(descriptor: number): void {
    closeSync(descriptor);
    this.#refill();
  }

  #refill(): void {
    try {
      while (this.#held.length < this.#count) this.#held.push(openSync("/dev/null", READING));
    } catch {
      // None left for now. The next file that is closed leaves room for more.
    }
  }
}
