/**
 * Waits for a condition, not for a time: looks every few milliseconds, and fails saying `what` after the deadline.
 * Its clock is not `performance.now`, which a test may hold still.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<void> {
  const end = Bun.nanoseconds() + deadlineMs * 1e6;
  while (!(await holds())) {
    if (Bun.nanoseconds() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await Bun.sleep(5);
  }
}
