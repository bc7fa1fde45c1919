/** Filesystem scopes: directories below the workdir, compared by path components. */

/** The components of a scope below the workdir, or `undefined` if it is absolute or climbs out of it. */
export function parseScope(scope: string): readonly string[] | undefined {
  if (scope.startsWith("/")) return undefined;
  const components: string[] = [];
  for (const component of scope.split("/")) {
    if (component === "" || component === ".") continue;
    if (component !== "..") components.push(component);
    else if (components.pop() === undefined) return undefined;
  }
  return components;
}

/**
 * Whether a parent's scope covers a child's: the child's must be equal or beneath. A parent without a scope holds the
 * whole workdir, so it covers every child. A child without one would reach the whole workdir, which no scope covers.
 */
export function scopeCovers(parent: string | undefined, child: string | undefined): boolean {
  if (parent === undefined) return true;
  if (child === undefined) return false;
  const outer = parseScope(parent);
  const inner = parseScope(child);
  return outer !== undefined && inner !== undefined && outer.every((name, index) => inner[index] === name);
}
