/**
 * Why a capsule does not start, with the code for its operator to look up if there is one.
 *
 * `E-RUN-019`: it could not take part in spawning (no daemon, no registration, no readable approval).
 * `E-RUN-020`: its spawner handle or its spawner lifeline is invalid. `E-RUN-044`: its formation id is invalid.
 * `E-RUN-046`: its formation did not hand it what a member must get.
 * `E-MAN-003`: its own manifest could not be loaded from its own store.
 */
export interface StartRefusal {
  readonly code?: "E-RUN-019" | "E-RUN-020" | "E-RUN-044" | "E-RUN-046" | "E-MAN-003";
  /** One sentence that names what to change and holds no token. */
  readonly message: string;
}

/** The refusal as one line for standard error: `E-RUN-019: …`. */
export function describeRefusal({ code, message }: StartRefusal): string {
  return code ? `${code}: ${message}` : message;
}
