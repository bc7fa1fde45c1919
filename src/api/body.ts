/** The handler of a `POST` route: it reads the body, checks it against the route's schema, and asks for the decision. */

import type { TSchema } from "@sinclair/typebox";
import { readJsonBody } from "../json-body.ts";
import type { DecisionLog } from "../log/decision-log.ts";
import {
  type ArtifactName,
  type ArtifactVersion,
  parseArtifactName,
  parseArtifactVersion,
} from "../registry/artifact-name.ts";
import { fault, ok } from "../result.ts";
import type { SessionId } from "../sessions/sessions.ts";
import { answerRefusal } from "./answer.ts";
import type { Caller, Decision } from "./context.ts";
import type { Refusal } from "./refusals.ts";
import { isSessionId, Outcome } from "./schemas.ts";

/** The type of each field once it has been checked. */
export interface Fields {
  readonly session_id: SessionId;
  readonly name: ArtifactName;
  readonly version: ArtifactVersion;
  readonly outcome: Outcome;
}

/** The part of a route's schema that is used here: its field names. */
export interface BodySchema<Name extends keyof Fields> {
  readonly properties: Readonly<Record<Name, TSchema>>;
}

/** The handler of a route that takes a body, and a token in a header. */
export function posted<Name extends keyof Fields, Answer>(
  log: DecisionLog,
  schema: BodySchema<Name>,
  tokenHeader: string,
  decide: (body: Pick<Fields, Name>, caller: Caller) => Decision<Answer> | Promise<Decision<Answer>>,
) {
  // It destructures its context in its parameters: `elysia.ts` says why.
  const handler = async ({ request }: { readonly request: Request }): Promise<Answer | Response> => {
    const body = await readBody(request, schema);
    const decision = body.ok ? await decide(body.value, callerOf(request, tokenHeader)) : body;
    return decision.ok ? decision.value : answerRefusal(request, decision.fault, log);
  };
  // The framework's types do not allow a promise of a union.
  return handler as (taken: { readonly request: Request }) => Promise<Answer> | Promise<Response>;
}

function callerOf(request: Request, tokenHeader: string): Caller {
  return {
    token: request.headers.get(tokenHeader) ?? undefined,
    hasLeft: () => request.signal.aborted,
  };
}

/** Reads a request's body and checks its fields in the order of the schema. Other fields are ignored. */
export async function readBody<Name extends keyof Fields>(
  request: Request,
  schema: BodySchema<Name>,
): Promise<Decision<Pick<Fields, Name>>> {
  const body = await readJsonBody(request);
  if (!body.ok) return body;
  const refusal = refuseBody(schema, body.value);
  return refusal ? fault(refusal) : ok(body.value as Pick<Fields, Name>);
}

function refuseBody<Name extends keyof Fields>(schema: BodySchema<Name>, body: unknown): Refusal | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return badBody("the body must be a JSON object");
  }
  const given = body as { readonly [Name in keyof Fields]?: unknown };
  for (const name in schema.properties) {
    const value = given[name];
    if (value === undefined) return badBody(`'${name}' is required`);
    if (typeof value !== "string") return badBody(`'${name}' must be a string`);
    const refusal = REFUSE_FIELD[name](value);
    if (refusal) return refusal;
  }
  return undefined;
}

const OUTCOMES: readonly string[] = Outcome.anyOf.map((outcome) => outcome.const);

/** The refusal of each field's text, if it is not valid. */
const REFUSE_FIELD: { readonly [Name in keyof Fields]: (text: string) => Refusal | undefined } = {
  session_id(text) {
    if (isSessionId(text)) return undefined;
    return badBody(
      text === ""
        ? "session_id must not be empty"
        : "'session_id' must be 1 to 256 characters of A-Z, a-z, 0-9, _ . : and -, and not . or ..",
    );
  },
  name(text) {
    if (parseArtifactName(text) !== undefined) return undefined;
    return badBody(
      "'name' must be a capsule full name, <scope>/<name>, each part 1 to 100 characters of a-z, 0-9 and -",
    );
  },
  version(text) {
    if (parseArtifactVersion(text) !== undefined) return undefined;
    return badBody(
      "'version' must be 1 to 128 characters without slashes or control characters, and not . or ..",
    );
  },
  outcome: (outcome) => (OUTCOMES.includes(outcome) ? undefined : { kind: "bad-outcome", outcome }),
};

function badBody(what: string): Refusal {
  return { kind: "bad-body", what };
}
