/** Placeholder: the real one comes with the snapshot branch. */
export function newId(prefix: "ses" | "dlg"): string {
  return `${prefix}_${Bun.randomUUIDv7().replaceAll("-", "")}`;
}
