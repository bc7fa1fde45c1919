/**
 * delegate-task in a loop with a model. Here the model is a function; replace it by a call of your SDK.
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
// The session is closed when this block ends. It counts as failed, unless closeSession was called before.
await using session = opened.value;
if (!canDelegate(session)) refuse("capabilities.spawn.allow is empty: there is no tool");

// The tool in the forms that SDKs take. Each has the same JSON Schema under another name.
const { name, description, input_schema } = session.delegateTask.definition;
const tools = {
  anthropic: { name, description, input_schema },
  mcp: { name, description, inputSchema: input_schema },
  openai: { type: "function", function: { name, description, parameters: input_schema } },
};

// The session's door, where children report. Completions are answered before everything else.
const door = createCompletionDoor(session.id);
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => (await answerCompletion(door, request)) ?? new Response(null, { status: 404 }),
});
const doorUrl = parseDoorUrl(`http://127.0.0.1:${server.port}`);
if (!doorUrl) refuse("the door has no port");

const cancel = new AbortController();
const ids = { taskId: newId("tsk"), contextId: newId("ctx") };
const delegations = createTaskDelegations({ session, door, doorUrl, ...ids });

const messages: Message[] = [{ role: "user", content: "Have the words of this sentence counted." }];
for (let turnsLeft = 10; turnsLeft > 0; ) {
  const turn = await askModel(messages, [tools.anthropic]);
  turnsLeft--;
  if (turn.kind === "tool") {
    // The call returns once the child has its task. Its answer comes later.
    const result = await delegations.call(turn.input, cancel.signal);
    messages.push({ role: "tool", content: result.text });
    continue;
  }
  messages.push({ role: "assistant", content: turn.text });
  // The model ended its turn: wait for all children, and continue with all answers in one message.
  const next = await delegations.settle({ kind: "finished", turnsLeft }, (status) =>
    say(`status: ${status}`),
  );
  if (next.kind === "done") break;
  messages.push({ role: "user", content: next.text });
}
// To cancel the task at any point: `await delegations.cancel()` ends and reaps every child.
for (const { role, content } of messages) say(`${role}: ${content}`);

await server.stop(true);
await closeSession(session, "complete");
process.exit(0);

interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
}

type Turn =
  | { readonly kind: "tool"; readonly input: unknown }
  | { readonly kind: "end"; readonly text: string };

/** A fake model: it delegates, says that it waits, and reads the outcome. */
async function askModel(conversation: readonly Message[], offered: readonly object[]): Promise<Turn> {
  const [last] = conversation.slice(-1);
  if (offered.length === 0) return { kind: "end", text: "I have no tool." };
  if (last?.role === "tool") return { kind: "end", text: "I wait for the answer." };
  if (conversation.length > 1) return { kind: "end", text: "The words are counted." };
  return {
    kind: "tool",
    input: { capsule: "counter", version: "1.0.0", task: "count the words of this task" },
  };
}
