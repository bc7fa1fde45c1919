import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readProcess } from "../../src/census/process-identity.ts";
import { createHost } from "./host.ts";
import { until } from "./until.ts";

test("the end of a host is the end of a daemon that does not listen yet", async () => {
  const host = createHost();
  const path = join(host.home, "pid");
  const prefix = ["sh", "-c", 'echo $$ > "$0.new" && mv "$0.new" "$0" && exec sleep 1000', path];
  const failed = host.start([], { prefix }).catch(String);
  await until("it has started", () => existsSync(path));
  const pid = Number(readFileSync(path, "utf8"));
  await host[Symbol.asyncDispose]();
  expect(readProcess(pid).held).toBe(false);
  expect(await failed).toContain("the daemon ended before it listened");
});
