import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "node:net";
import { createRoostClient, refusalSentence } from "../../src/runtime/client.ts";
import { type Clock, systemClock } from "../../src/runtime/clock.ts";
import { exchange } from "../../src/runtime/http.ts";
import { Secret } from "../../src/runtime/secret.ts";
import { parseRoostUrl } from "../../src/runtime/wire.ts";
import { leasePort } from "../kit/leased-port.ts";
import { manualClock } from "../kit/manual-clock.ts";
import { rawServers, reply } from "../kit/raw-server.ts";
import { until } from "../kit/until.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

const TOKEN = "msc1.eyJ2IjoxLCJzaWQiOiJzZXNfMSJ9.c2VjcmV0LXNlY3JldC1zZWNyZXQ";
const credential = new Secret(TOKEN);
const asked = { name: "local/worker", version: "0.1.0" };
const granted = {
  approval: "msa1.approval.mac",
  ...asked,
  sha256: "0".repeat(64),
  expires_at_ms: 1_756_531_200_000,
};

const serve = rawServers();

async function daemon(answer: (socket: Socket) => void, clock: Clock = systemClock, path = "") {
  const server = await serve(answer);
  const url = parseRoostUrl(`${server.url}${path}`);
  if (!url.ok) throw new Error(url.fault);
  return { server, client: createRoostClient(url.value, clock) };
}

test("a request asks for the whole address, its query too", async () => {
  const server = await serve(reply(200, "{}"));
  const url = new URL(`${server.url}/a/b?c=d&e=%20f#g`);
  expect(await exchange({ method: "GET", url }, systemClock)).toMatchObject({ status: 200, body: "{}" });
  expect(server.received()).toStartWith("GET /a/b?c=d&e=%20f HTTP/1.1\r\n");
});

test("interim answers are passed over, but not without end", async () => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\n";
  const answering = (interims: number) => (socket: Socket) => {
    socket.write(interim.repeat(interims));
    reply(200, JSON.stringify(granted))(socket);
  };
  expect((await (await daemon(answering(16))).client.spawn(asked, credential)).kind).toBe("granted");
  const { client } = await daemon(answering(17));
  expect(await client.spawn(asked, credential)).toEqual({
    kind: "unreachable",
    reason: "more than 16 interim answers came first",
  });
});

describe("an answer of the daemon", () => {
  test("that is a grant is returned typed, with its approval as a secret", async () => {
    const { client, server } = await daemon(reply(200, JSON.stringify(granted)));
    const answer = await client.spawn(asked, credential);
    if (answer.kind !== "granted") throw new Error(answer.kind);
    expect(answer.value.approval.reveal()).toBe(granted.approval);
    expect(answer.value.sha256).toBe(granted.sha256);
    expect(answer.value.expires_at_ms).toBe(granted.expires_at_ms);
    expect(JSON.stringify(answer)).not.toContain(granted.approval);
    expect(server.received()).toStartWith("POST /spawn HTTP/1.1\r\n");
    expect(server.received()).toContain(`x-murmur-spawn-credential: ${TOKEN}\r\n`);
    expect(server.received()).toEndWith(`\r\n\r\n${JSON.stringify(asked)}`);
  });

  test("that is a refusal keeps its sentence, with invisible characters escaped for display", async () => {
    const error = "capabilities.shell.allow: the child declares 'gît', which … — ‮ \u0000 and \"quotes\"";
    const { client } = await daemon(reply(403, JSON.stringify({ error })));
    const answer = await client.spawn(asked, credential);
    expect(answer).toEqual({ kind: "refused", status: 403, error });
    if (answer.kind === "granted") throw new Error("it was granted");
    const shown = error.replace("\u202e", "\\u202e").replace("\u0000", "\\u0000");
    expect(refusalSentence(answer, client.url)).toBe(shown);
  });

  test("may have keys that a later daemon adds", async () => {
    const { client } = await daemon(reply(200, JSON.stringify({ ...granted, later: 1 })));
    expect((await client.spawn(asked, credential)).kind).toBe("granted");
  });

  test.each([
    ["not JSON", reply(200, "granted")],
    ["a grant without its hash", reply(200, JSON.stringify({ ...granted, sha256: undefined }))],
    ["another capsule", reply(200, JSON.stringify({ ...granted, name: "local/other" }))],
    ["another version", reply(200, JSON.stringify({ ...granted, version: "0.2.0" }))],
    ["an approval that would end its header", reply(200, JSON.stringify({ ...granted, approval: "a\r\nb" }))],
    ["a refusal without a sentence", reply(403, "{}")],
    ["no answer at all", (socket: Socket) => socket.end()],
    ["a cut answer", (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"a"')],
    ["no HTTP", (socket: Socket) => socket.end("220 ready\r\n\r\n")],
  ])("that is %s grants nothing", async (_, answer) => {
    const { client } = await daemon(answer);
    const came = await client.spawn(asked, credential);
    expect(came.kind).toBe("unreachable");
    if (came.kind !== "granted") expect(refusalSentence(came, client.url)).toContain(client.url);
  });

  test("that never comes, as the daemon is gone, is a refusal with the transport's reason", async () => {
    await using nobody = await leasePort();
    const url = parseRoostUrl(nobody.url);
    if (!url.ok) throw new Error(url.fault);
    const answer = await createRoostClient(url.value).health();
    expect(answer.kind).toBe("unreachable");
    if (answer.kind === "unreachable") expect(answer.reason).toContain("ECONNREFUSED");
  });

  test("is requested only once", async () => {
    const { client, server } = await daemon((socket) => socket.end());
    await client.register({ session_id: "ses_1", ...asked }, new Secret("msa1.a.b"));
    expect(server.received().split("POST /register").length - 1).toBe(1);
    expect(server.received()).toContain("x-murmur-spawn-approval: msa1.a.b\r\n");
  });

  test("may come from a base URL with a path and one trailing slash", async () => {
    const { client, server } = await daemon(reply(404, '{"error":"session not found"}'), systemClock, "/a/");
    expect(await client.status("ses_1")).toEqual({
      kind: "refused",
      status: 404,
      error: "session not found",
    });
    expect(server.received()).toStartWith("GET /a/status/ses_1 HTTP/1.1\r\n");
  });
});

test("a request for an id sends it exactly as it is written, character by character", async () => {
  const { client, server } = await daemon(reply(404, '{"error":"session not found"}'));
  await client.status("ses:1_A-b.c");
  expect(server.received()).toStartWith("GET /status/ses:1_A-b.c HTTP/1.1\r\n");
  await client.status("a/../b?c#d%");
  expect(server.received()).toContain("GET /status/a%2F..%2Fb%3Fc%23d%25 HTTP/1.1\r\n");
});

describe("by the bounds of a request", () => {
  test("an answer that takes longer than 30 s is abandoned", async () => {
    const clock = manualClock();
    const { client, server } = await daemon(() => {}, clock);
    const answer = client.health();
    await until("the request has arrived", () => server.received().endsWith("\r\n\r\n"));
    await clock.advance(30_001);
    expect(await answer).toEqual({ kind: "unreachable", reason: "the answer took longer than 30 s" });
    expect(clock.waiting()).toBe(0);
  });

  test("an answer that trickles in gets no extra time", async () => {
    const clock = manualClock();
    const { client, server } = await daemon((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
      const drip = setInterval(() => socket.write("x"), 5);
      socket.on("close", () => clearInterval(drip));
    }, clock);
    const answer = client.health();
    await until("the request has arrived", () => server.received().endsWith("\r\n\r\n"));
    await clock.advance(30_001);
    expect((await answer).kind).toBe("unreachable");
  });

  test("an endless answer is cut off", async () => {
    const { client } = await daemon((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
      // As fast as it is read, for as long as somebody reads.
      const more = (error?: Error | null) => {
        if (!error && !socket.destroyed) socket.write(chunk, (failed) => setImmediate(more, failed));
      };
      more();
    });
    expect(await client.health()).toEqual({
      kind: "unreachable",
      reason: "the answer is longer than 1048576 bytes",
    });
  });

  test("a request that its caller aborts ends at once", async () => {
    const { client, server } = await daemon(() => {});
    const giveUp = new AbortController();
    const answer = client.spawn(asked, credential, giveUp.signal);
    await until("the request has arrived", () => server.received().includes("0.1.0"));
    const arrived = server.received();
    giveUp.abort(new Error("no longer wanted"));
    expect(await answer).toEqual({ kind: "unreachable", reason: "the request was given up" });
    expect(await client.spawn(asked, credential, giveUp.signal)).toEqual({
      kind: "unreachable",
      reason: "no longer wanted",
    });
    expect(server.received()).toBe(arrived);
  });
});

describe("the token", () => {
  test("is not sent to the target of a redirect, which is an answer", async () => {
    const elsewhere = await serve(reply(200, JSON.stringify(granted)));
    const { client } = await daemon(reply(307, "{}", { location: `${elsewhere.url}/spawn` }));
    expect((await client.spawn(asked, credential)).kind).toBe("unreachable");
    expect(elsewhere.received()).toBe("");
  });

  test("is not sent to a proxy that the environment names", async () => {
    const proxy = await serve(reply(200, JSON.stringify(granted)));
    const { server } = await daemon(reply(403, '{"error":"refused"}'));
    const program = `
      import { parseRoostUrl } from "${import.meta.dir}/../../src/runtime/wire.ts";
      import { createRoostClient } from "${import.meta.dir}/../../src/runtime/client.ts";
      import { Secret } from "${import.meta.dir}/../../src/runtime/secret.ts";
      const url = parseRoostUrl(process.env.MURMUR_ROOST_URL);
      const client = createRoostClient(url.value);
      console.log(JSON.stringify(await client.spawn(${JSON.stringify(asked)}, new Secret("${TOKEN}"))));
    `;
    const names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    const environment = Object.fromEntries(names.map((name) => [name, proxy.url]));
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
      env: { PATH: "/usr/bin:/bin", MURMUR_ROOST_URL: server.url, NODE_USE_ENV_PROXY: "1", ...environment },
      stdout: "pipe",
      stderr: "inherit",
    });
    expect(await new Response(child.stdout).text()).toContain('"error":"refused"');
    expect(proxy.received()).toBe("");
    expect(server.received()).toContain(TOKEN);
  });

  test("is quoted in no failure message", async () => {
    for (const answer of [reply(200, TOKEN), reply(403, TOKEN), (socket: Socket) => socket.end(TOKEN)]) {
      const { client } = await daemon(answer);
      expect(JSON.stringify(await client.spawn(asked, credential))).not.toContain(TOKEN);
    }
    const { client } = await daemon(reply(200, "{}"));
    const unsendable = new Secret(`${TOKEN}\r\nx: y`);
    const came = await client.spawn(asked, unsendable);
    expect(came.kind).toBe("unreachable");
    expect(JSON.stringify(came)).not.toContain(TOKEN);
  });
});

describe("MURMUR_ROOST_URL", () => {
  test.each([undefined, "", "  "])("counts as not set if it is %p", (value) => {
    expect(parseRoostUrl(value)).toEqual({ ok: false, fault: "MURMUR_ROOST_URL is not set" });
  });

  test.each([
    "https://127.0.0.1:7700",
    "127.0.0.1:7700",
    "http://me:hunter2@127.0.0.1:7700",
    "http://127.0.0.1:7700/?a=hunter2",
    "file:///etc/passwd",
  ])("is refused as a place to send a token if it is %s", (value) => {
    const read = parseRoostUrl(value);
    expect(read.ok).toBe(false);
    expect(JSON.stringify(read)).not.toContain("hunter2");
  });
});
