import { expect, setDefaultTimeout, test } from "bun:test";
import { playDelegation } from "../../examples/acts.ts";
import { createHost } from "../kit/host.ts";

setDefaultTimeout(120_000);

test("the demo's second act: a child works in a copy, and the parent's folder stays as it was", async () => {
  await using host = createHost();
  let told = "";
  await playDelegation(host.home, (line = "") => {
    told += `${line}\n`;
  });
  expect(told).toMatch(
    /\n {2}dlg_[0-9a-f]{32} runs as ses_[0-9a-f]{32} in .*\/children\/reviewer-[0-9a-f]{16}\n/,
  );
  expect(told).toContain("it ended: exit status: 0\n");
  expect(told).toContain("2 files, 2 left to do:\n  TODO find a name\n  TODO write it down\n");
  const [own, parents] = told.split("The lead's folder");
  expect(own).toContain('plan.md: "DONE find a name\\nDONE write it down\\n"');
  expect(parents).toContain('plan.md: "TODO find a name\\nTODO write it down\\n"');
  expect(parents).not.toContain("result.txt");
});
