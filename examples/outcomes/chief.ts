/**
 * A capsule that delegates as a model would: three calls of delegate-task, the end of the turn, and one text with all
 * outcomes.
 */

import {
  answerCompletion,
  canDelegate,
  closeSession,
  createCompletionDoor,
  createTaskDelegations,
  describeRefusal,
  newId,
  openSession,
  parseDoorUrl,
} from "mur-roost/runtime";

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

const say = (text: string) => void process.stdout.write(`${text}\n`);

const opened = await openSession();
if (!opened.ok) refuse(describeRefusal(opened.fault));
const session = opened.value;
if (!canDelegate(session)) refuse("capabilities.spawn.allow is empty: there is nobody to delegate to");

// The capsule's A2A door. Completions are handled first.
const door = createCompletionDoor(session.id);
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => (await answerCompletion(door, request)) ?? new Response(null, { status: 404 }),
});
const doorUrl = parseDoorUrl(`http://127.0.0.1:${server.port}`);
if (!doorUrl) refuse("the door has no port");

const ids = { taskId: newId("tsk"), contextId: newId("ctx") };
const delegations = createTaskDelegations({ session, door, doorUrl, ...ids });
for (const capsule of session.delegateTask.capsules.keys()) {
  const task = "count the words of this task";
  const { kind, text } = await delegations.call({ capsule, version: "1.0.0", task });
  say(`delegate-task ${capsule}: ${kind}\n${text}\n`);
}
const next = await delegations.settle({ kind: "finished", turnsLeft: 1 }, (status) =>
  say(`status: ${status}`),
);
if (next.kind === "continue") say(`\n${next.text}`);

await server.stop(true);
await closeSession(session, "complete");
process.exit(0);
