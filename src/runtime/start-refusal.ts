/**
 * Why a capsule does not start, with the code its operator looks up where there is one.
 *
 * `E-RUN-019`: it could not take part in spawning (no daemon, no registration, no readable approval).
 * `E-RUN-020`: its spawner handle or its spawner lifeline is not one. `E-RUN-044`: its formation id is not one.
 * `E-RUN-046`: what its formation handed it is not what a member is handed.
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
