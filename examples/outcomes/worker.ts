/** A capsule that is delegated to: it takes one task, does it, and leaves the answer. Its name decides how well. */

import { randomBytes } from "node:crypto";
import { describeRefusal, openSession, Secret, serveTask } from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
const session = opened.value;

const status = await serveTask(session, {
  operatorToken: new Secret(randomBytes(32).toString("hex")),
  async run({ text }) {
    if (session.manifest.name === "unlucky") {
      process.stderr.write("out of luck\n");
      process.exit(3);
    }
    return {
      status: "ok",
      answer: `${text.split(/\s+/).length} words, the longest of them "${longest(text)}".`,
    };
  },
});
process.exit(status);

function longest(text: string): string {
  return text.split(/\s+/).reduce((one, other) => (other.length > one.length ? other : one), "");
}
