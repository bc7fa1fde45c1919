import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { slimSourceMap } from "../../scripts/library/source-map.ts";
import { scratchDirectory } from "../kit/scratch.ts";

const SOURCE = `/**
 * A comment of
 * three lines.
 */
export interface Left {
  readonly out: number;
}
export function first(): number {
  // One of its own.
  return Number("// no comment");
}

export const second = (value: number) =>
  first() + value; // Beside code.
`;

test("a slim map gives the source line of each line, and contains only the code of its sources", async () => {
  using scratch = scratchDirectory();
  mkdirSync(join(scratch.path, "src"));
  writeFileSync(join(scratch.path, "src/more.ts"), SOURCE);
  writeFileSync(
    join(scratch.path, "src/index.ts"),
    'import { second } from "./more.ts";\n\nconsole.log(second(1));\n',
  );
  const built = await Bun.build({ entrypoints: [join(scratch.path, "src/index.ts")], sourcemap: "external" });
  const [program, map] = await Promise.all(built.outputs.map((output) => output.text()));
  if (program === undefined || map === undefined) throw new Error("there is no map");
  const slim = slimSourceMap(map);
  expect(slim.length).toBeLessThan(map.length);

  const reduced = new SourceMap(JSON.parse(slim));
  const lines = program.split("\n");
  const origin = (text: string) =>
    reduced.findEntry(
      lines.findIndex((line) => line.includes(text)),
      0,
    );
  const inMore = { originalSource: expect.stringMatching(/src\/more\.ts$/) };
  // Counted from 0.
  expect(origin("no comment")).toMatchObject({ ...inMore, originalLine: 9 });
  expect(origin("second =")).toMatchObject({ ...inMore, originalLine: 12 });
  expect(origin("console.log")).toMatchObject({
    originalSource: expect.stringMatching(/src\/index\.ts$/),
    originalLine: 2,
  });

  const { sources, sourcesContent } = JSON.parse(slim);
  const more = sourcesContent[sources.findIndex((source: string) => source.endsWith("more.ts"))];
  const uncommented = SOURCE.replace(/\/\*\*[\s\S]*?\*\//, "\n\n\n").replace("  // One of its own.", "");
  expect(more).toBe(uncommented.replace(/export interface[\s\S]*?^\}/m, "\n\n"));
});
