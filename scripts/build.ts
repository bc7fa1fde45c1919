/** `npm run build`: compiles `dist/mur-roost` for this machine. `--quiet` says nothing on success. */
import { join, relative } from "node:path";
import { messageOf } from "../src/os-error.ts";
import { compile, ROOT } from "./compile.ts";

const flags = process.argv.slice(2);
const unknown = flags.find((flag) => flag !== "--quiet");
if (unknown !== undefined) {
  process.stderr.write(`build: unknown argument: ${unknown} (only --quiet is known)\n`);
  process.exit(1);
}

const outfile = join(ROOT, "dist/mur-roost");
try {
  await compile({ outfile });
} catch (error) {
  process.stderr.write(`build: ${messageOf(error)}\n`);
  process.exit(1);
}
if (!flags.includes("--quiet")) process.stdout.write(`${relative(process.cwd(), outfile) || outfile}\n`);
