/**
 * A whole life of a session with a client that was generated from `openapi.json`. It is type-checked beside the
 * generated `api.d.ts`, and then run with the daemon's address as its argument.
 */

import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const daemon = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

/** The answer, or the daemon's sentence, which is a string for every status. */
function granted<T>({ data, error }: { data?: T; error?: { error: string } }): T {
  if (data !== undefined) return data;
  throw new Error(error?.error ?? "no answer");
}

await daemon.GET("/health").then(granted);

const parent = { session_id: "ses_parent", name: "local/parent", version: "0.1.0" };
const { credential } = granted(await daemon.POST("/register", { body: parent }));
const asParent = { header: { "x-murmur-spawn-credential": credential } };

const approval = granted(
  await daemon.POST("/spawn", {
    params: asParent,
    body: { name: "local/child", version: "0.1.0" },
  }),
);
const expiresInFuture: boolean = approval.expires_at_ms > Date.now();

const child = granted(
  await daemon.POST("/register", {
    params: { header: { "x-murmur-spawn-approval": approval.approval } },
    body: { session_id: "ses_child", name: approval.name, version: approval.version },
  }),
);

const refused = await daemon.POST("/spawn", {
  params: asParent,
  body: { name: "local/stranger", version: "0.1.0" },
});
const sentence: string | undefined = refused.error?.error;

for (const one of [child.credential, credential]) {
  const params = { header: { "x-murmur-spawn-credential": one } };
  granted(await daemon.POST("/deregister", { params, body: { outcome: "complete" } }));
}
const status = granted(
  await daemon.GET("/status/{session_id}", { params: { path: { session_id: "ses_parent" } } }),
);
const ended: "running" | "complete" | "failed" = status.status;

process.stdout.write(`${JSON.stringify({ expiresInFuture, sentence, ended, live: status.live_capsules })}\n`);

/** What the compiler must refuse; never called. */
export async function mistakes(): Promise<void> {
  // @ts-expect-error: the credential is missing
  await daemon.POST("/spawn", { body: { name: "local/child", version: "0.1.0" } });
  // @ts-expect-error: the credential is missing
  await daemon.POST("/deregister", { body: { outcome: "complete" } });
  // @ts-expect-error: no such outcome
  await daemon.POST("/deregister", { params: asParent, body: { outcome: "maybe" } });
  // @ts-expect-error: no such field
  approval.expires_at;
}
