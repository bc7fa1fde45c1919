import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { ENDPOINTS, refusalsOf } from "../../scripts/openapi/endpoints.ts";
import { OPENAPI_PATH, openApiText } from "../../scripts/openapi.ts";
import { schemaFaults } from "../kit/json-schema.ts";
import { createWorld, type World } from "../runtime/world.ts";

// Processes start slowly on a machine that is busy with other things.
setDefaultTimeout(120_000);

test("openapi.json matches the schemas (npm run openapi writes it)", async () => {
  expect(await Bun.file(OPENAPI_PATH).text()).toBe(await openApiText());
});

/** A daemon and a place to keep what it answered. */
async function talk(flags: readonly string[], conversation: (ask: Ask, world: World) => Promise<void>) {
  const world = await createWorld(flags);
  const heard: Heard[] = [];
  const ask: Ask = async (route, { body, headers = {}, id } = {}) => {
    const [method = "", path = ""] = route.split(" ");
    const response = await fetch(`${world.roostUrl}${path.replace("{session_id}", id ?? "")}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    heard.push({ route, status: response.status, answer });
    return answer as Record<string, string>;
  };
  try {
    await conversation(ask, world);
  } finally {
    await world.stop();
  }
  return heard;
}

type Ask = (
  route: string,
  how?: { body?: unknown; headers?: Record<string, string>; id?: string },
) => Promise<Record<string, string>>;

interface Heard {
  readonly route: string;
  readonly status: number;
  readonly answer: unknown;
}

const version = "0.1.0";
const WORKER = { name: "local/worker", version };

async function wholeConversation(ask: Ask, world: World): Promise<void> {
  await world.publish("local/parent", "spawn: {allow: [local/worker, local/wide, local/missing]}");
  await world.publish("local/worker", "");
  await world.publish("local/wide", "shell: {allow: [git]}");
  await ask("GET /health");
  await ask("GET /health", { headers: { origin: "http://example.com" } });
  const registration = { session_id: "ses_parent", name: "local/parent", version };
  const { credential = "" } = await ask("POST /register", { body: registration });
  const asParent = { headers: { "x-murmur-spawn-credential": credential } };
  const granted = await ask("POST /spawn", { body: WORKER, ...asParent });
  const approved = { headers: { "x-murmur-spawn-approval": granted.approval ?? "" } };
  const child = { session_id: "ses_child", ...WORKER };
  await ask("POST /register", { body: child, ...approved });
  await ask("POST /register", { body: { ...child, session_id: "ses_other" }, ...approved });
  const second = await ask("POST /spawn", { body: WORKER, ...asParent });
  const again = { headers: { "x-murmur-spawn-approval": second.approval ?? "" } };
  await ask("POST /register", { body: { ...registration, session_id: "ses_wrong" }, ...again });
  const third = await ask("POST /spawn", { body: WORKER, ...asParent });
  await world.publish("local/worker", "spawn: {allow: []}");
  const changed = { headers: { "x-murmur-spawn-approval": third.approval ?? "" } };
  await ask("POST /register", { body: { ...child, session_id: "ses_changed" }, ...changed });
  await ask("POST /register", { body: child });
  await ask("POST /register", { body: registration });
  await ask("POST /register", { body: "{" });
  await ask("POST /register", { body: { ...registration, name: "Nobody" } });
  await ask("POST /spawn", { body: { name: "local/elsewhere", version }, ...asParent });
  await ask("POST /spawn", { body: { name: "local/missing", version }, ...asParent });
  await ask("POST /spawn", { body: { name: "local/wide", version }, ...asParent });
  await ask("POST /spawn", { body: WORKER });
  await ask("POST /spawn", { body: { name: "local/worker" }, ...asParent });
  await ask("POST /spawn", { body: `"${"x".repeat(70_000)}"`, ...asParent });
  await ask("GET /status/{session_id}", { id: "ses_parent" });
  await ask("GET /status/{session_id}", { id: "ses_nobody" });
  await ask("GET /status/{session_id}", { id: "a%20b" });
  await ask("POST /deregister", { body: { outcome: "maybe" }, ...asParent });
  await ask("POST /deregister", { body: { outcome: "complete" } });
  await ask("POST /deregister", { body: { outcome: "complete" }, ...asParent });
}

async function oneTooMany(ask: Ask, world: World): Promise<void> {
  await world.publish("local/parent", "spawn: {allow: [local/worker]}");
  await world.publish("local/worker", "");
  const body = { session_id: "ses_parent", name: "local/parent", version };
  const { credential = "" } = await ask("POST /register", { body });
  await ask("POST /spawn", { body: WORKER, headers: { "x-murmur-spawn-credential": credential } });
}

/** Whether a refusal is one of those that the document lists for its route and status. */
async function knownSentences(): Promise<(route: string, status: number, answer: unknown) => boolean> {
  const lists = new Map(
    await Promise.all(
      ENDPOINTS.map(async (endpoint) => {
        const route = `${endpoint.method.toUpperCase()} ${endpoint.path}`;
        return [route, await refusalsOf(endpoint)] as const;
      }),
    ),
  );
  return (route, status, answer) => {
    const { error } = answer as { error: string };
    return (lists.get(route) ?? []).some((one) => one.status === status && one.pattern.test(error));
  };
}

describe("each real answer of the daemon", () => {
  test("fits the document", async () => {
    const document = await Bun.file(OPENAPI_PATH).json();
    const known = await knownSentences();
    const heard = [
      ...(await talk([], wholeConversation)),
      ...(await talk(["--max-depth", "0"], oneTooMany)),
      ...(await talk(["--max-live-capsules", "0"], oneTooMany)),
      ...(await talk(["--max-concurrent", "0"], oneTooMany)),
    ];
    const faults = heard.flatMap(({ route, status, answer }) => {
      const [method = "", path = ""] = route.split(" ");
      const said = `${route} ${status} ${JSON.stringify(answer)}`;
      const response = document.paths[path][method.toLowerCase()].responses[status];
      if (!response) return [`${said}: no such status`];
      const schema = response.content["application/json"].schema;
      const shape = schemaFaults(schema, answer).map((fault) => `${said}: ${fault}`);
      return status === 200 || known(route, status, answer) ? shape : [...shape, `${said}: no such sentence`];
    });
    expect(faults).toEqual([]);
    const statuses = [...new Set(heard.map(({ route, status }) => `${route} ${status}`))].sort();
    expect(statuses).toEqual([
      "GET /health 200",
      "GET /health 403",
      "GET /status/{session_id} 200",
      "GET /status/{session_id} 404",
      "POST /deregister 200",
      "POST /deregister 400",
      "POST /deregister 403",
      "POST /register 200",
      "POST /register 400",
      "POST /register 403",
      "POST /spawn 200",
      "POST /spawn 400",
      "POST /spawn 403",
      "POST /spawn 413",
      "POST /spawn 500",
    ]);
    const sentences = new Set(heard.map(({ answer }) => (answer as { error?: string }).error));
    expect(sentences.size).toBeGreaterThan(18);
  });

  test("would not fit with another sentence, status or field", async () => {
    const document = await Bun.file(OPENAPI_PATH).json();
    const { responses } = document.paths["/spawn"].post;
    const refused = responses[403].content["application/json"].schema;
    const granted = responses[200].content["application/json"].schema;
    const known = await knownSentences();
    expect(known("POST /spawn", 403, { error: "capsule 'local/a' is not in parent's spawn_allow" })).toBe(
      true,
    );
    expect(known("POST /spawn", 403, { error: "something else" })).toBe(false);
    expect(known("POST /spawn", 403, { error: "capsule 'A' is not in parent's spawn_allow" })).toBe(false);
    expect(known("POST /register", 403, { error: "capsule 'local/a' is not in parent's spawn_allow" })).toBe(
      false,
    );
    expect(schemaFaults(refused, { error: "not authorised", more: 1 })).not.toEqual([]);
    expect(schemaFaults(granted, { approval: "a", name: "b", version: "c", sha256: "d" })).not.toEqual([]);
    expect(responses[418]).toBeUndefined();
  });
});
