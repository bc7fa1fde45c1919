import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { format, inspect } from "node:util";
import { parseSecret, Secret } from "../../src/runtime/secret.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const TOKEN = "msc1.eyJ2IjoxfQ.bWFj";
const secret = new Secret(TOKEN);

describe("a secret is not shown", () => {
  const nested = { deep: { list: [secret], map: new Map([["token", secret]]) } };
  const shown: Record<string, string> = {
    "a template": `${secret}`,
    "a concatenation": `a ${String(secret)}`,
    "JSON.stringify": JSON.stringify(nested),
    "util.inspect": inspect(nested, { depth: null, showHidden: true, getters: true }),
    "util.format": ["%s", "%o", "%O", "%j", "%d"].map((how) => format(how, secret)).join(" "),
    "Bun.inspect": Bun.inspect(nested, { depth: 10 }),
    "an error": inspect(new Error(`no ${secret}`, { cause: secret })),
    "its entries": JSON.stringify([
      Object.entries(secret),
      Object.getOwnPropertyNames(secret),
      { ...secret },
    ]),
    "a clone": inspect(structuredClone({ secret })),
  };
  test.each(Object.keys(shown))("by %s", (how) => {
    expect(shown[how]).not.toContain(TOKEN);
  });

  test("on the console or in an uncaught exception", async () => {
    const program = `
      import { Secret } from "${import.meta.dir}/../../src/runtime/secret.ts";
      const secret = new Secret(process.argv.at(-1));
      console.log(secret, { secret }, [secret]);
      console.error("%o %s", secret, secret);
      console.table([{ secret }]);
      console.dir(secret, { showHidden: true });
      throw Object.assign(new Error("failed with " + secret, { cause: { secret } }), { secret });
    `;
    const child = Bun.spawn([process.execPath, "-e", program, TOKEN], { stdout: "pipe", stderr: "pipe" });
    const written = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
    expect(written).not.toContain(TOKEN);
    expect(written).toContain("<redacted>");
    expect(written).toContain("failed with <redacted>");
  });
});

test("a text that cannot be sent in a header is no token", () => {
  for (const text of ["", " ", "a b", "a\r\nb", "ä", "x".repeat(8193), undefined, 7]) {
    expect(parseSecret(text)).toBeUndefined();
  }
  expect(parseSecret(TOKEN)?.reveal()).toBe(TOKEN);
});
