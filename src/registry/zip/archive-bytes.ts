/** How the ZIP reader reads an archive: once from start to end, except for its last part, which is needed first. */

/**
 * The bytes of one archive. All bytes returned here are covered by the hash of the whole file.
 *
 * Each method pauses now and then, so that others can run.
 */
export interface ArchiveBytes {
  /** How many there are. */
  readonly size: number;
  /** The reader's position. */
  readonly position: number;
  /** Bytes ahead of the reader, which does not move. Both ends must be within the archive. */
  peek(start: number, length: number): Generator<void, Buffer>;
  /** Moves the reader forward to a position. */
  skipTo(position: number): Generator<void, void>;
  /**
   * Reads the next bytes.
   *
   * @throws ArchiveFault if the archive ends before they do
   */
  take(length: number): Generator<void, Buffer>;
}
