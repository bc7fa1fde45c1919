/**
 * Clients that close their sending side after a whole request, and clients that go away altogether: either the answer
 * comes, or nothing was done.
 */

import { beforeAll, expect, test } from "bun:test";
import { manifestOf, sharedFamily } from "../kit/family.ts";
import { VERSION } from "../kit/host.ts";
import { settled } from "../kit/publish.ts";
import { connectRaw, type RawAnswer, type RawConnection, requestBytes } from "../kit/raw-http.ts";
import { shared } from "../kit/shared.ts";
import { until } from "../kit/until.ts";
import { STORED, zipBytes } from "../kit/zip-bytes.ts";

const host = sharedFamily();
const daemon = shared(() => host().start(["--max-live-capsules", "1000", "--max-concurrent", "1000"]));
const caller = () => daemon().caller;

let credential: string;
beforeAll(async () => {
  credential = await caller().credential("ses_root", "local/parent");
  // From here on the daemon knows the child, and answers without reading a file.
  await settled(host().registry);
  expect((await caller().spawn(credential, "local/child")).status).toBe(200);
});

interface Post {
  readonly path: string;
  readonly body: object;
  readonly headers?: readonly (readonly [string, string])[];
}

const bytesOf = ({ path, body, headers = [] }: Post): string =>
  requestBytes({ method: "POST", path, headers, body: JSON.stringify(body) });

/** Sends it together with the end of the stream, so that the daemon sees both at once. */
function sendWithEnd(connection: RawConnection, bytes: string): void {
  process.kill(daemon().pid, "SIGSTOP");
  try {
    connection.send(bytes);
    connection.finish();
  } finally {
    process.kill(daemon().pid, "SIGCONT");
  }
}

async function halfClosed(bytes: string): Promise<RawAnswer[]> {
  const connection = await connectRaw(daemon().port);
  try {
    sendWithEnd(connection, bytes);
    const answers: RawAnswer[] = [];
    for (let next = await connection.answer(); next; next = await connection.answer()) answers.push(next);
    return answers;
  } finally {
    connection.close();
  }
}

const spawnPost = (name: string): Post => ({
  path: "/spawn",
  body: { name, version: VERSION },
  headers: [["x-murmur-spawn-credential", credential]],
});

const registerPost = (session_id: string, name: string, approval?: string): Post => ({
  path: "/register",
  body: { session_id, name, version: VERSION },
  headers: approval === undefined ? [] : [["x-murmur-spawn-approval", approval]],
});

async function liveChildren(): Promise<number> {
  return Number((await caller().status("ses_root")).json.live_children);
}

test("a client that has closed its sending side gets an answer to any request", async () => {
  const approval = String((await caller().spawn(credential, "local/child")).json.approval);
  const leaving = await caller().credential("ses_leaving", "local/parent");
  const posts: readonly (readonly [Post, number])[] = [
    [spawnPost("local/child"), 200],
    [registerPost("ses_half", "local/parent"), 200],
    [registerPost("ses_half_child", "local/child", approval), 200],
    [registerPost("ses_half", "local/parent"), 403],
    [registerPost("ses_nobody", "local/child"), 403],
    [spawnPost("local/unlisted"), 403],
    [spawnPost("no full name"), 400],
    [
      {
        path: "/deregister",
        body: { outcome: "complete" },
        headers: [["x-murmur-spawn-credential", leaving]],
      },
      200,
    ],
    [{ path: "/nowhere", body: {} }, 404],
  ];
  for (const [post, status] of posts) {
    const answers = await halfClosed(bytesOf(post));
    expect([post.path, post.body, answers.map((answer) => answer.status)]).toEqual([
      post.path,
      post.body,
      [status],
    ]);
  }
  expect((await caller().status("ses_leaving")).json.status).toBe("complete");
});

test("of the requests that such a client sent ahead, exactly the answered ones take effect", async () => {
  const before = await liveChildren();
  const answers = await halfClosed(bytesOf(spawnPost("local/child")).repeat(3));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(await liveChildren()).toBe(before + answers.length);
});

/** The daemon reads so many in pieces, and the client has gone before the first. */
const LARGE_BYTES = 16 * 1024 * 1024;

function publishLarge(): void {
  const content = Buffer.alloc(LARGE_BYTES, crypto.getRandomValues(new Uint8Array(16)));
  const manifest = { name: "murmur.yaml", content: manifestOf("child", "") };
  host().publishBytes("local/child", zipBytes([manifest, { name: "data", method: STORED, content }]));
}

/** Sends a request whose decision has to wait for the registry, and goes away with it. */
async function askAndLeave(post: Post): Promise<void> {
  const left = () => daemon().stderr().split("refused=caller-left").length;
  const before = left();
  publishLarge();
  const connection = await connectRaw(daemon().port);
  sendWithEnd(connection, bytesOf(post));
  expect(await connection.answer()).toBeUndefined();
  connection.close();
  await until("the daemon notices that its caller has left", () => left() > before);
}

test("a caller that left while its artifact was read takes no slot", async () => {
  const before = await liveChildren();
  await askAndLeave(spawnPost("local/child"));
  expect(await liveChildren()).toBe(before);
});

test("a caller that left while its artifact was read is not registered and keeps its approval", async () => {
  publishLarge();
  const granted = await caller().spawn(credential, "local/child");
  const approval = String(granted.json.approval);
  // Any name serves: the approval is not looked at before the artifact is resolved.
  await askAndLeave(registerPost("ses_gone", "local/child", approval));
  expect((await caller().status("ses_gone")).status).toBe(404);
  const retried = await caller().post(
    "/register",
    { session_id: "ses_gone", name: "local/child", version: VERSION },
    { "x-murmur-spawn-approval": approval },
  );
  // Not "already redeemed": what it named was replaced in the meantime.
  expect(String(retried.json.error)).toContain("now resolves to a different artifact");
});
