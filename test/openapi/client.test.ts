/** `openapi.json` through the tools of those who use it: a validator, and a generator of clients. */

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import { OPENAPI_PATH } from "../../scripts/openapi.ts";
import { run } from "../kit/consumer.ts";
import { ROOT } from "../kit/documents.ts";
import { createHost, spawns } from "../kit/host.ts";

setDefaultTimeout(120_000);

const scratch = mkdtempSync(join(realpathSync(tmpdir()), "mur-roost-client-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** What the validator says of a document, its examples compared with their schemas. */
async function faultsOf(text: string): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      // The server is on loopback, and a licence needs no address.
      "no-server-example.com": "off",
      "info-license-url": "off",
      "operation-4xx-response": "error",
      "no-invalid-media-type-examples": "error",
      "no-invalid-parameter-examples": "error",
    },
  });
  const problems = await lintFromString({ source: text, absoluteRef: OPENAPI_PATH, config });
  return problems.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`);
}

test("the document is valid, and so is every example in it", async () => {
  const text = await Bun.file(OPENAPI_PATH).text();
  expect(await faultsOf(text)).toEqual([]);
  // An unknown field and an example that does not fit its schema are reported.
  const broken = JSON.parse(text);
  broken.paths["/spawn"].post.responses[200].content["application/json"].example.expires_at_ms = "soon";
  broken.paths["/health"].get.sumary = "a mistake";
  const faults = await faultsOf(JSON.stringify(broken));
  expect(faults.some((fault) => fault.startsWith("no-invalid-media-type-examples"))).toBe(true);
  expect(faults.some((fault) => fault.startsWith("struct"))).toBe(true);
});

test("a generated client plays a whole life of a session, type-checked and run", async () => {
  const types = astToString(await openapiTS(await Bun.file(OPENAPI_PATH).json()));
  writeFileSync(join(scratch, "api.d.ts"), types);
  copyFileSync(join(import.meta.dir, "life.ts"), join(scratch, "life.ts"));
  symlinkSync(join(ROOT, "node_modules"), join(scratch, "node_modules"));
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    types: ["bun-types"],
    noEmit: true,
  };
  writeFileSync(join(scratch, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  await run([join(ROOT, "node_modules/.bin/tsc"), "--pretty", "false"], scratch);

  await using host = createHost();
  await host.publish("local/parent", spawns("local/child"));
  await host.publish("local/child");
  const daemon = await host.start(["--spawn-allow", "local/parent"]);
  const told = await run([process.execPath, "life.ts", daemon.url], scratch);
  expect(JSON.parse(told)).toEqual({
    expiresInFuture: true,
    sentence: "capsule 'local/stranger' is not in parent's spawn_allow",
    ended: "complete",
    live: 0,
  });
});
