/** Containment classes, weakest first. */
export const CONTAINMENT_CLASSES = ["advisory", "scoped", "sealed"] as const;
export type Containment = (typeof CONTAINMENT_CLASSES)[number];
