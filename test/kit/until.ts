/** Waits for a condition, not for a time: looks every few milliseconds, and fails saying `what` after the deadline. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await Bun.sleep(5);
  }
}
