/** Containment classes, weakest first. Apart from the reading of manifests, which the referee must not depend on. */
export const CONTAINMENT_CLASSES = ["advisory", "scoped", "sealed"] as const;
export type Containment = (typeof CONTAINMENT_CLASSES)[number];
