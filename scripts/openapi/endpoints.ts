/** The five endpoints in the document: what each takes, answers and refuses. */

import type { TObject, TSchema } from "@sinclair/typebox";
import {
  CREDENTIAL_HEADER,
  DeregisterAnswer,
  DeregisterBody,
  DeregisterHeaders,
  HealthAnswer,
  RegisterAnswer,
  RegisterBody,
  RegisterHeaders,
  SpawnAnswer,
  SpawnBody,
  SpawnHeaders,
  StatusAnswer,
  StatusPath,
} from "../../src/api/schemas.ts";
import { bodySentences, type Kind, type Sentence, sentencesOf } from "./sentences.ts";

export interface Endpoint {
  readonly method: "get" | "post";
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly headers?: TObject;
  /** Headers that a request needs to be granted. A request without them is refused, not malformed. */
  readonly needs?: readonly string[];
  readonly pathParameters?: TObject;
  /** A realistic value of the path parameter. */
  readonly pathExample?: string;
  readonly body?: TObject;
  readonly bodyExample?: object;
  readonly answer: TSchema;
  readonly answerExample: object;
  readonly answerDescription: string;
  /** Its refusals, in the order they are checked, except those about the content of the body. */
  readonly refusals: readonly Exclude<Kind, "bad-body" | "bad-outcome">[];
}

/** Refusals that any request can get, and refusals that any request with a body can get. */
const ALWAYS: Endpoint["refusals"] = ["foreign-caller", "internal"];
const WITH_BODY: Endpoint["refusals"] = ["body-too-large", "body-too-slow", "body-ended-early"];

const CHILD = { name: "local/researcher", version: "1.0.0" };
const SESSION_ID = "ses_019e4d3c-8f00-7a10-b7a4-2f6d9c1e5a01";
/** Example tokens, shortened. */
const APPROVAL = "msa1.eyJ2IjoxLCJzaWQi";
const CREDENTIAL = "msc1.eyJ2IjoxLCJzaWQi";

export const ENDPOINTS: readonly Endpoint[] = [
  {
    method: "get",
    path: "/health",
    operation: "health",
    summary: "Is the daemon listening?",
    description: "Answers once the daemon is listening.",
    answer: HealthAnswer,
    answerExample: {},
    answerDescription: "The daemon is listening",
    refusals: ALWAYS,
  },
  {
    method: "post",
    path: "/spawn",
    operation: "spawn",
    summary: "Ask permission to spawn a capsule",
    description:
      "Judges the session that the credential names: its allow list, then depth, machine ceiling and concurrency, then the envelope of the artifact that the registry resolves. A grant takes a slot. The slot is free again when the child deregisters, or, if the approval was never redeemed, when it expires or the asking session deregisters.",
    headers: SpawnHeaders,
    needs: [CREDENTIAL_HEADER],
    body: SpawnBody,
    bodyExample: CHILD,
    answer: SpawnAnswer,
    answerExample: {
      approval: APPROVAL,
      ...CHILD,
      sha256: "fda83b6bc0ff01bb80408ecd84d3f7ac16ef1f2e986536cabea9b49687aaa412",
      expires_at_ms: 1795976373793,
    },
    answerDescription: "Granted: the approval, and the artifact it was granted for",
    refusals: [...ALWAYS, ...WITH_BODY, "identity", "not-in-parent-allow", "bound", "unresolved", "envelope"],
  },
  {
    method: "post",
    path: "/register",
    operation: "register",
    summary: "Announce a session and take its credential",
    description:
      "With an approval, the session becomes a child of the one that earned it; the approval is spent. Without one, the name must be in the daemon's --spawn-allow.",
    headers: RegisterHeaders,
    body: RegisterBody,
    bodyExample: { session_id: SESSION_ID, ...CHILD },
    answer: RegisterAnswer,
    answerExample: { credential: CREDENTIAL },
    answerDescription: "The session is running",
    refusals: [
      ...ALWAYS,
      ...WITH_BODY,
      "not-in-spawn-allow",
      "unresolved",
      "identity",
      "approval-expired",
      "approval-redeemed",
      "approval-other-coordinates",
      "approval-other-bytes",
    ],
  },
  {
    method: "post",
    path: "/deregister",
    operation: "deregister",
    summary: "Report that a session has ended",
    description: "The credential authorises nothing afterwards.",
    headers: DeregisterHeaders,
    needs: [CREDENTIAL_HEADER],
    body: DeregisterBody,
    bodyExample: { outcome: "complete" },
    answer: DeregisterAnswer,
    answerExample: {},
    answerDescription: "The session is retired",
    refusals: [...ALWAYS, ...WITH_BODY, "identity"],
  },
  {
    method: "get",
    path: "/status/{session_id}",
    operation: "status",
    summary: "Poll a registered session",
    description: "Records are held in memory: after a restart of the daemon no earlier session is found.",
    pathParameters: StatusPath,
    pathExample: SESSION_ID,
    answer: StatusAnswer,
    answerExample: { status: "running", depth_remaining: 2, live_children: 1, live_capsules: 3 },
    answerDescription: "The session as the daemon has it at this moment",
    refusals: [...ALWAYS, "not-found", "session-not-found"],
  },
];

/** Every sentence that an endpoint can refuse with. */
export async function refusalsOf({ refusals, body }: Endpoint): Promise<Sentence[]> {
  return [...refusals.flatMap(sentencesOf), ...(body ? await bodySentences(body) : [])];
}
