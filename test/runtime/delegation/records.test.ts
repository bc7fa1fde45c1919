import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CompletionRecord } from "../../../src/runtime/delegation/completion.ts";
import {
  type DelegationIdentity,
  readRecord as read,
  writeRecord,
} from "../../../src/runtime/delegation/completion.ts";
import { Secret } from "../../../src/runtime/secret.ts";
import { close } from "../../../src/sys/descriptors.ts";
import { manualClock } from "../../kit/manual-clock.ts";
import { hold, identity, scratch } from "./kit.ts";

const TOKEN = new Secret("operator-token-0123456789abcdef");
/** A valid record. That it can be read is certain here. */
async function readRecord(directory: number, of: DelegationIdentity, ms: number, secrets: readonly Secret[]) {
  const found = await read(directory, of, ms, secrets, manualClock());
  if (!found.ok) throw new Error(found.fault);
  return found.value;
}

const record: CompletionRecord = {
  status: "ok",
  durationMs: 12,
  resultPath: "/r/out/result.txt",
  detail: undefined,
  reportedBy: "child",
  delivered: false,
  deliveryError: undefined,
};

async function written(
  what: CompletionRecord,
): Promise<{ text: string; read: CompletionRecord | undefined; path: string }> {
  const path = scratch();
  const held = hold(path);
  expect(await writeRecord(held, identity(), what)).toEqual({ ok: true, value: undefined });
  const read = await readRecord(held, identity(), 99, []);
  close(held);
  return { text: readFileSync(join(path, "completion.json"), "utf8"), read, path };
}

describe("completion.json", () => {
  test("is pretty, ends in a newline and leaves out what is absent", async () => {
    const { text, read, path } = await written(record);
    expect(text).toBe(`{
  "delegation_id": "dlg_0193",
  "capsule_name": "worker",
  "capsule_version": "0.1.0",
  "session_id": "ses_0193",
  "status": "ok",
  "result_path": "/r/out/result.txt",
  "workdir": "/home/me/.murmur/records/home/me/project/ses_0192/children/worker-3f2a",
  "duration_ms": 12,
  "reported_by": "child",
  "delivered": false
}
`);
    expect(read).toEqual(record);
    expect(readdirSync(path)).toEqual(["completion.json"]);
    expect(statSync(join(path, "completion.json")).mode & 0o777).toBe(0o600);
  });

  test("replaces what was there, even a link, and follows no link", async () => {
    const path = scratch();
    const elsewhere = join(scratch(), "elsewhere");
    writeFileSync(elsewhere, "untouched");
    symlinkSync(elsewhere, join(path, "completion.json"));
    const held = hold(path);
    expect(await readRecord(held, identity(), 0, [])).toBeUndefined();
    expect((await writeRecord(held, identity(), record)).ok).toBe(true);
    expect((await readRecord(held, identity(), 0, []))?.status).toBe("ok");
    close(held);
    expect(readFileSync(elsewhere, "utf8")).toBe("untouched");
  });

  test("leaves no other file beside it if it cannot be replaced", async () => {
    const path = scratch();
    mkdirSync(join(path, "completion.json"));
    const held = hold(path);
    expect((await writeRecord(held, identity(), record)).ok).toBe(false);
    close(held);
    expect(readdirSync(path)).toEqual(["completion.json"]);
  });

  test.each<[string, object | string]>([
    ["another delegation's", { delegation_id: "dlg_other" }],
    ["another session's", { session_id: "ses_other" }],
    ["of a status that is none", { status: "fine" }],
    ["no object", "[]"],
    ["half a file", '{"delegation_id": "dlg_0193", "session_id": "ses_'],
    ["too long", { detail: "x".repeat(300_000) }],
  ])("is unreadable if it is %s", async (_, what) => {
    const path = scratch();
    const whole = { delegation_id: "dlg_0193", session_id: "ses_0193", status: "ok", duration_ms: 1 };
    writeFileSync(
      join(path, "completion.json"),
      typeof what === "string" ? what : JSON.stringify({ ...whole, ...what }),
    );
    const held = hold(path);
    expect(await readRecord(held, identity(), 0, [])).toBeUndefined();
    close(held);
  });

  test("has no token in any text", async () => {
    const path = scratch();
    const said = `it is ${TOKEN.reveal()}, or msc1.eyJ.x, or ${TOKEN.reveal().slice(3, 23)}`;
    const record = { delegation_id: "dlg_0193", session_id: "ses_0193", status: "error", duration_ms: 1 };
    writeFileSync(
      join(path, "completion.json"),
      JSON.stringify({ ...record, detail: said, result_path: said, delivery_error: said }),
    );
    const held = hold(path);
    const shown = "it is <redacted>, or <redacted>, or <redacted>";
    expect(await readRecord(held, identity(), 0, [TOKEN])).toMatchObject({
      detail: shown,
      resultPath: shown,
      deliveryError: shown,
    });
    close(held);
  });

  test("gives its status, its duration and its cut detail, and no other text of the child", async () => {
    const path = scratch();
    const forged = {
      delegation_id: "dlg_0193",
      session_id: "ses_0193",
      status: "error",
      duration_ms: "long",
    };
    writeFileSync(
      join(path, "completion.json"),
      JSON.stringify({ ...forged, workdir: "/etc", capsule_name: "king", detail: "x".repeat(2_001) }),
    );
    const held = hold(path);
    expect(await readRecord(held, identity(), 77, [TOKEN])).toEqual({
      ...record,
      status: "error",
      durationMs: 77,
      resultPath: undefined,
      detail: `${"x".repeat(2_000)} […]`,
    });
    close(held);
  });
});
