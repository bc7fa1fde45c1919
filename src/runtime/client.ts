/** The daemon's client: five requests, each sent once, typed by the daemon's own route schemas. */

import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  APPROVAL_HEADER,
  CREDENTIAL_HEADER,
  DeregisterAnswer,
  HealthAnswer,
  type Outcome,
  Refused,
  RegisterAnswer,
  type RegisterBody,
  SpawnAnswer,
  type SpawnBody,
  StatusAnswer,
} from "../api/schemas.ts";
import { parseJson } from "../json.ts";
import { printable } from "../printable.ts";
import { type Clock, systemClock } from "./clock.ts";
import { exchange } from "./http.ts";
import { parseSecret, type Secret } from "./secret.ts";
import type { RoostUrl } from "./wire.ts";

/** How the daemon answered a request. */
export type RoostAnswer<T> =
  | { readonly kind: "granted"; readonly value: T }
  /** `error` is the daemon's sentence, byte for byte. */
  | { readonly kind: "refused"; readonly status: number; readonly error: string }
  /** There was no usable answer: the transport's reason, or what was wrong with the answer. */
  | { readonly kind: "unreachable"; readonly reason: string };

/** A granted spawn. `expires_at_ms` is unix milliseconds. */
export type SpawnApproval = Omit<SpawnAnswer, "approval"> & { readonly approval: Secret };

/** The daemon's five endpoints. Each request is sent once, and nothing throws. A signal cancels a request at once. */
export interface RoostClient {
  readonly url: RoostUrl;
  health(signal?: AbortSignal): Promise<RoostAnswer<HealthAnswer>>;
  /**
   * Without `approval` this is the top-level path, which `--spawn-allow` controls. If granted: the session's
   * credential.
   */
  register(session: RegisterBody, approval?: Secret, signal?: AbortSignal): Promise<RoostAnswer<Secret>>;
  spawn(asked: SpawnBody, credential: Secret, signal?: AbortSignal): Promise<RoostAnswer<SpawnApproval>>;
  deregister(
    outcome: Outcome,
    credential: Secret,
    signal?: AbortSignal,
  ): Promise<RoostAnswer<DeregisterAnswer>>;
  status(sessionId: string, signal?: AbortSignal): Promise<RoostAnswer<StatusAnswer>>;
}

/** A client of the daemon at `url`. It never retries: an answer is final. */
export function createRoostClient(url: RoostUrl, clock: Clock = systemClock): RoostClient {
  const ask = async <S extends TSchema>(
    schema: S,
    path: string,
    more: { body?: object; headers?: Record<string, Secret>; signal?: AbortSignal | undefined } = {},
  ): Promise<RoostAnswer<Static<S>>> => {
    const reply = await exchange(
      {
        method: more.body ? "POST" : "GET",
        url: new URL(`${url}${path}`),
        ...(more.headers && { headers: more.headers }),
        ...(more.body && { body: JSON.stringify(more.body) }),
        ...(more.signal && { signal: more.signal }),
      },
      clock,
    );
    if (reply.kind === "failed") return { kind: "unreachable", reason: reply.reason };
    return readAnswer(schema, reply.status, reply.body);
  };

  return {
    url,
    health: (signal) => ask(HealthAnswer, "/health", { signal }),
    async register(session, approval, signal) {
      const headers: Record<string, Secret> = approval ? { [APPROVAL_HEADER]: approval } : {};
      const answer = await ask(RegisterAnswer, "/register", { body: session, headers, signal });
      return withToken(answer, "credential", (_, credential) => credential);
    },
    async spawn(asked, credential, signal) {
      const headers = { [CREDENTIAL_HEADER]: credential };
      const answer = await ask(SpawnAnswer, "/spawn", { body: asked, headers, signal });
      if (answer.kind === "granted") {
        const { name, version } = answer.value;
        if (name !== asked.name || version !== asked.version) {
          return { kind: "unreachable", reason: "mur-roost approved another capsule than the one asked for" };
        }
      }
      return withToken(answer, "approval", (value, approval) => ({ ...value, approval }));
    },
    deregister: (outcome, credential, signal) =>
      ask(DeregisterAnswer, "/deregister", {
        body: { outcome },
        headers: { [CREDENTIAL_HEADER]: credential },
        signal,
      }),
    // The daemon compares paths as they are written, so the characters of an id must not be encoded.
    status: (sessionId, signal) => {
      const id = encodeURIComponent(sessionId).replaceAll("%3A", ":");
      return ask(StatusAnswer, `/status/${id}`, { signal });
    },
  };
}

/**
 * Why the request was not granted, for a model or an operator to read. A refusal is the daemon's own sentence, byte for
 * byte, except that invisible characters are escaped, because it quotes manifests, which may hold anything.
 */
export function refusalSentence(
  answer: Exclude<RoostAnswer<unknown>, { kind: "granted" }>,
  url: RoostUrl,
): string {
  return printable(answer.kind === "refused" ? answer.error : `mur-roost at ${url}: ${answer.reason}`);
}

function readAnswer<S extends TSchema>(schema: S, status: number, body: string): RoostAnswer<Static<S>> {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch {
    return { kind: "unreachable", reason: `the answer, with status ${status}, is not JSON` };
  }
  // A later daemon may send more. Keys that this runtime does not know are dropped, not refused.
  const known = Value.Clean(status === 200 ? schema : Refused, value);
  if (status === 200 && Value.Check(schema, known)) return { kind: "granted", value: known };
  if (status !== 200 && Value.Check(Refused, known)) return { kind: "refused", status, error: known.error };
  return { kind: "unreachable", reason: `the answer, with status ${status}, is not one of mur-roost's` };
}

function withToken<T extends object, K extends keyof T, U>(
  answer: RoostAnswer<T>,
  key: K,
  take: (value: T, token: Secret) => U,
): RoostAnswer<U> {
  if (answer.kind !== "granted") return answer;
  const token = parseSecret(answer.value[key]);
  if (token) return { kind: "granted", value: take(answer.value, token) };
  return { kind: "unreachable", reason: `mur-roost answered with a ${String(key)} that is no token` };
}
