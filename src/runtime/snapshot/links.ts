/** Where a copied symbolic link points (API page, "Workdir snapshot"). */

const SLASH = 0x2f;

/**
 * The target of a link in the copy. An absolute path inside `folder` becomes the same place in `copy`. For any other
 * target this is `undefined`, and the link stays as it is.
 *
 * Only the text is used. Nothing is looked up, so nothing is followed. `.` and doubled slashes are ignored, and `..` is
 * a step up. The part after the folder is kept as it was written.
 */
export function repoint(target: Uint8Array, folder: Uint8Array, copy: Uint8Array): Uint8Array | undefined {
  if (target[0] !== SLASH) return undefined;
  const root = parts(folder);
  const steps = parts(target);
  const inside = stepsInto(steps, root);
  if (inside === undefined) return undefined;
  const rest = steps.slice(inside);
  const trailing = rest.length > 0 && target.at(-1) === SLASH ? [Buffer.of()] : [];
  return new Uint8Array(
    Buffer.concat([copy, ...[...rest, ...trailing].flatMap((step) => [Buffer.of(SLASH), step])]),
  );
}

/** How many of a path's steps are needed to reach the root for the last time, if no later step leaves it again. */
function stepsInto(steps: readonly Buffer[], root: readonly Buffer[]): number | undefined {
  const at: Buffer[] = [];
  let inside: number | undefined = root.length === 0 ? 0 : undefined;
  for (const [index, step] of steps.entries()) {
    if (!step.equals(UP)) at.push(step);
    else at.pop();
    if (!startsWith(at, root)) inside = undefined;
    else inside ??= index + 1;
  }
  return inside;
}

const UP = Buffer.from("..");
const HERE = Buffer.from(".");

function parts(path: Uint8Array): Buffer[] {
  const found: Buffer[] = [];
  const bytes = Buffer.from(path.buffer, path.byteOffset, path.length);
  for (let from = 0; from < bytes.length; ) {
    const slash = bytes.indexOf(SLASH, from);
    const to = slash < 0 ? bytes.length : slash;
    const part = bytes.subarray(from, to);
    if (part.length > 0 && !part.equals(HERE)) found.push(part);
    from = to + 1;
  }
  return found;
}

function startsWith(at: readonly Buffer[], root: readonly Buffer[]): boolean {
  return at.length >= root.length && root.every((part, index) => at[index]?.equals(part));
}
