/** JSON from another process: an object or `undefined`, checked field by field. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    return objectIn(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function objectIn(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

export function stringIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
