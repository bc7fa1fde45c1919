/** Compiles what is measured: the daemon as released for this machine, and the floor on the same runtime. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { compile, ROOT } from "../scripts/compile.ts";
import { fetchRuntime, runtimePath } from "../scripts/release/runtime.ts";
import { TARGETS } from "../scripts/release/targets.ts";

const PLACE = join(ROOT, "dist/bench");

export interface Built {
  readonly daemon: string;
  readonly floor: string;
  /** The runtime that both run on. */
  readonly runtime: string;
}

/** Compiles both. On Linux x86-64 the released runtime is the baseline one: it is fetched once and checked against its pin. */
export async function buildAll(): Promise<Built> {
  const daemon = join(PLACE, "mur-roost");
  const floor = join(PLACE, "floor");
  const target = TARGETS.find(({ platform }) => platform === "linux-x86_64");
  if (process.platform !== "linux" || process.arch !== "x64" || !target) {
    await compile({ outfile: daemon });
    await compileFloor(floor, {});
    return { daemon, floor, runtime: `Bun ${Bun.version}` };
  }
  const place = join(PLACE, `runtime-${Bun.version}`);
  const runtime = runtimePath(place);
  if (!existsSync(runtime)) {
    const fetched = await fetchRuntime(target, place, AbortSignal.timeout(120_000));
    if (!fetched.ok) throw new Error(`the baseline runtime: ${fetched.fault}`);
  }
  await compile({ outfile: daemon, cross: { target: target.bunTarget, runtime } });
  await compileFloor(floor, { target: target.bunTarget, executablePath: runtime });
  return { daemon, floor, runtime: `Bun ${Bun.version}, ${target.bunTarget}` };
}

/** Compiles the floor like the daemon, so that only what they do differs. */
async function compileFloor(
  outfile: string,
  runtime: { readonly target?: Bun.Build.CompileTarget; readonly executablePath?: string },
): Promise<void> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "floor.ts")],
    target: "bun",
    format: "esm",
    minify: true,
    bytecode: true,
    compile: { outfile, ...runtime },
    throw: false,
  });
  if (!built.success) throw new Error(["the floor does not compile:", ...built.logs.map(String)].join("\n"));
}
