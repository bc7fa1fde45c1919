/**
 * Writes `openapi.json`: the daemon's API for authors in other languages, made from the same schemas and sentences that
 * the daemon answers with. Run `bun scripts/openapi.ts`; `--check` only tells whether the file is stale.
 */

import { join } from "node:path";
import type { TObject } from "@sinclair/typebox";
import packageFile from "../package.json" with { type: "json" };
import { Refused } from "../src/api/schemas.ts";
import { writeOrCheck } from "./generated-file.ts";
import { ENDPOINTS, type Endpoint, refusalsOf } from "./openapi/endpoints.ts";
import type { Sentence } from "./openapi/sentences.ts";

export const OPENAPI_PATH = join(import.meta.dir, "..", "openapi.json");

/** The whole document. */
async function openApiDocument(): Promise<object> {
  const paths: Record<string, object> = {};
  for (const endpoint of ENDPOINTS) {
    paths[endpoint.path] = { [endpoint.method]: await operation(endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "mur-roost",
      version: packageFile.version,
      description:
        'Decides which capsules may start which other capsules. Every refusal is `{"error": <one sentence>}`; any other path or method is 404 with `not found`.',
      license: { name: "Apache 2.0", identifier: packageFile.license },
    },
    servers: [{ url: "http://127.0.0.1:{port}", variables: { port: { default: "7700" } } }],
    // The daemon has no users: what authorises a request is a token in one of its headers.
    security: [],
    paths,
  };
}

async function operation(endpoint: Endpoint): Promise<object> {
  const { headers, pathParameters, needs = [], body, bodyExample, answer, answerExample } = endpoint;
  const parameters = [
    ...parametersOf(pathParameters, "path", [], endpoint.pathExample),
    ...parametersOf(headers, "header", needs),
  ];
  return {
    operationId: endpoint.operation,
    summary: endpoint.summary,
    description: endpoint.description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(body, bodyExample) } }),
    responses: {
      200: { description: endpoint.answerDescription, content: json(answer, answerExample) },
      ...refusalResponses(await refusalsOf(endpoint)),
    },
  };
}

function parametersOf(
  schema: TObject | undefined,
  where: "path" | "header",
  needed: readonly string[],
  example?: string,
): object[] {
  return Object.entries(schema?.properties ?? {}).map(([parameter, { description, ...shape }]) => ({
    name: parameter,
    in: where,
    required: needed.includes(parameter) || (schema?.required?.includes(parameter) ?? false),
    ...(description && { description }),
    schema: shape,
    ...(example !== undefined && { example }),
  }));
}

function json(schema: object, example?: object): object {
  return { "application/json": { schema, ...(example && { example }) } };
}

/** One response for each status. The description lists the sentences that its `error` can be. */
function refusalResponses(sentences: readonly Sentence[]): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, said] of Map.groupBy(sentences, (one) => one.status)) {
    const list = said.map(({ template }) => `- \`${template}\``).join("\n");
    responses[status] = {
      description: `Refused. \`error\` is:\n\n${list}`,
      content: { "application/json": { schema: Refused, examples: examplesOf(said) } },
    };
  }
  return responses;
}

/** The example of each sentence, under the name of its kind; numbered if the kind has several. */
function examplesOf(sentences: readonly Sentence[]): Record<string, object> {
  const kinds = Map.groupBy(sentences, ({ kind }) => kind);
  const examples = [...kinds].flatMap(([kind, said]) =>
    said.map(({ example }, index) => {
      const key = said.length === 1 ? kind : `${kind}-${index + 1}`;
      return [key, { value: { error: example } }] as const;
    }),
  );
  return Object.fromEntries(examples);
}

/** The file's text. It is stable, so a change of the API gives a readable diff. */
export async function openApiText(): Promise<string> {
  return `${JSON.stringify(await openApiDocument(), undefined, 2)}\n`;
}

if (import.meta.main) await writeOrCheck(OPENAPI_PATH, await openApiText(), "openapi");
