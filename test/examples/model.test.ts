import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { play } from "../../examples/acts.ts";
import { createHost } from "../kit/host.ts";

setDefaultTimeout(120_000);

test("the model's loop: it delegates, ends its turn, and goes on with the child's answer", async () => {
  await using host = createHost();
  const examples = join(import.meta.dir, "../../examples");
  const { told } = await play({
    directory: host.home,
    manifests: {
      chief: "name: chief\nversion: 1.0.0\ncapabilities: {spawn: {allow: [local/counter]}}\n",
      counter: "name: counter\nversion: 1.0.0\n",
    },
    root: { name: "chief", program: join(examples, "model/main.ts") },
    childProgram: join(examples, "outcomes/worker.ts"),
    stderr: "inherit",
  });
  expect(told).toContain("user: Have the words of this sentence counted.\n");
  expect(told).toMatch(/^tool: \{"delegation_id":"dlg_[^"]+".*"status":"started"/m);
  expect(told).toContain("assistant: I wait for the answer.\n");
  expect(told).toContain('6 words, the longest of them "count".');
  expect(told).toEndWith("assistant: The words are counted.\n");
});
