/** The result of a release step: a value, or one sentence that says what is wrong and what to change. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: string };

export function success<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function failure(fault: string): Outcome<never> {
  return { ok: false, fault };
}
