/** How the ZIP reader sees an archive: once from start to end, except for the part at its end that is needed first. */

/**
 * The bytes of one archive. Whatever these methods give is vouched for by the hash of the whole.
 *
 * Each method pauses where its reader may give way to others.
 */
export interface ArchiveBytes {
  /** How many there are. */
  readonly size: number;
  /** Where the reader stands. */
  readonly position: number;
  /** Bytes ahead of the reader, which stays where it is. Both ends must lie within the archive. */
  peek(start: number, length: number): Generator<void, Buffer>;
  /** Moves the reader on to a position; never back. */
  skipTo(position: number): Generator<void, void>;
  /**
   * The next bytes, and moves the reader behind them.
   *
   * @throws ArchiveFault where the archive ends before they do
   */
  take(length: number): Generator<void, Buffer>;
}
