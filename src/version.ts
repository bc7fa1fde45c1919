/**
 * The daemon's version. The bundler folds this one string into a compiled binary, which therefore reads no
 * package.json when it runs; from source it is read from the package.json next to `src/`.
 */
import { version } from "../package.json" with { type: "json" };

export const VERSION: string = version;
