/**
 * File descriptors held back for the reading of artifacts: whoever opens connections until none is left does not keep
 * the daemon from reading.
 */

import { closeSync, constants, openSync } from "node:fs";
import { isSystemError } from "../os-error.ts";

/** A link is followed, and a FIFO is not waited for. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;

export class SpareDescriptors {
  readonly #count: number;
  readonly #held: number[] = [];

  /** @param count how many files are open at once at the most */
  constructor(count: number) {
    this.#count = count;
    this.#refill();
  }

  /**
   * Opens a file to be read, in the place of a spare one where no other descriptor is free.
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
      // As many as there are; the next file that is closed leaves room for more.
    }
  }
}
