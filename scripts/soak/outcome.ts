/** The result of a part of the soak. */
export interface Outcome {
  /** The figures, one per row. */
  readonly rows: readonly (readonly [string, string | number])[];
  /** What is not as expected, one sentence each. */
  readonly faults: readonly string[];
}
