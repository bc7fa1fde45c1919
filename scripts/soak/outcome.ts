/** What a part of the soak came to. */
export interface Outcome {
  /** What was seen, a row each. */
  readonly rows: readonly (readonly [string, string | number])[];
  /** What is not as it must be, a sentence each. */
  readonly faults: readonly string[];
}
