/** Filesystem scopes: directories below the workdir, compared by path components. */

/** The components of a scope below the workdir, or `undefined` where it is absolute or climbs out of it. */
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
 * Whether a parent's scope covers a child's: equal to it or beneath it. A parent without one holds the whole workdir and
 * does not look at the child's; a child without one would reach what no declared scope covers.
 */
export function scopeCovers(parent: string | undefined, child: string | undefined): boolean {
  if (parent === undefined) return true;
  if (child === undefined) return false;
  const outer = parseScope(parent);
  const inner = parseScope(child);
  return outer !== undefined && inner !== undefined && outer.every((name, index) => inner[index] === name);
}
