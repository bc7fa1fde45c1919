/** A value, or what stood in its way. */
export type Result<T, F> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: F };

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function fault<F>(what: F): { readonly ok: false; readonly fault: F } {
  return { ok: false, fault: what };
}
