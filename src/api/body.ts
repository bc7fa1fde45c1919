/** Reads a body as JSON and checks it against the schema of its route. */

import type { TSchema } from "@sinclair/typebox";
import { readJsonBody } from "../json-body.ts";
import {
  type ArtifactName,
  type ArtifactVersion,
  parseArtifactName,
  parseArtifactVersion,
} from "../registry/artifact-name.ts";
import type { SessionId } from "../sessions/sessions.ts";
import type { Decision } from "./context.ts";
import type { Refusal } from "./refusals.ts";
import { Outcome, SESSION_ID_PATTERN } from "./schemas.ts";

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

const SESSION_ID = new RegExp(SESSION_ID_PATTERN);
const OUTCOMES: readonly string[] = Outcome.anyOf.map((outcome) => outcome.const);

/** For each field: whether its text is valid, and the refusal if it is not. */
const FIELDS: {
  readonly [Name in keyof Fields]: {
    readonly holds: (text: string) => boolean;
    readonly refuse: (text: string) => Refusal;
  };
} = {
  session_id: {
    holds: (text) => SESSION_ID.test(text),
    refuse: (text) =>
      badBody(
        text === ""
          ? "session_id must not be empty"
          : "'session_id' must be 1 to 256 characters of A-Z, a-z, 0-9, _ . : and -, and not . or ..",
      ),
  },
  name: {
    holds: (text) => parseArtifactName(text) !== undefined,
    refuse: () =>
      badBody(
        "'name' must be a capsule full name, <scope>/<name>, each part 1 to 100 characters of a-z, 0-9 and -",
      ),
  },
  version: {
    holds: (text) => parseArtifactVersion(text) !== undefined,
    refuse: () =>
      badBody("'version' must be 1 to 128 characters without slashes or control characters, and not . or .."),
  },
  outcome: {
    holds: (text) => OUTCOMES.includes(text),
    refuse: (outcome) => ({ kind: "bad-outcome", outcome }),
  },
};

/** Reads a request's body and checks its fields in the order of the schema. Other fields are ignored. */
export async function readBody<Name extends keyof Fields>(
  request: Request,
  schema: BodySchema<Name>,
): Promise<Decision<Pick<Fields, Name>>> {
  const reading = await readJsonBody(request);
  if (!reading.ok) return { ok: false, refusal: reading.fault };
  const refusal = refuseBody(schema, reading.value);
  return refusal ? { ok: false, refusal } : { ok: true, answer: reading.value as Pick<Fields, Name> };
}

function refuseBody<Name extends keyof Fields>(schema: BodySchema<Name>, body: unknown): Refusal | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return NO_OBJECT;
  const given = body as { readonly [Name in keyof Fields]?: unknown };
  for (const name in schema.properties) {
    const value = given[name];
    if (value === undefined) return badBody(`'${name}' is required`);
    if (typeof value !== "string") return badBody(`'${name}' must be a string`);
    const field = FIELDS[name];
    if (!field.holds(value)) return field.refuse(value);
  }
  return undefined;
}

function badBody(what: string): Refusal {
  return { kind: "bad-body", what };
}

const NO_OBJECT = badBody("the body must be a JSON object");
