import { shared } from "../../kit/shared.ts";

/** The door of the children that are shell scripts, which this process serves for them. */
export function sharedShellDoor(): () => Bun.Server<undefined> {
  return shared((undo) => {
    const fetch = async (request: Request) => answer(await request.text());
    return undo.adopt(Bun.serve({ hostname: "127.0.0.1", port: 0, fetch }), (server) => server.stop(true));
  });
}

function answer(request: string): Response {
  const task = { id: "tsk_1", status: { state: "TASK_STATE_WORKING" } };
  const artifacts = [{ parts: [{ text: "an answer" }] }];
  const completed = { ...task, status: { state: "TASK_STATE_COMPLETED" }, artifacts };
  return Response.json({ result: request.includes("SendMessage") ? { task } : completed });
}
