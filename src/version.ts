/** The daemon's version: `package.json`'s, which the build compiles in. */

import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
