import { expect, test } from "bun:test";
import { bundleThread, THREAD_TEXT } from "../../../scripts/snapshot-thread.ts";
import { closeAccount, openAccount, skip } from "../../../src/runtime/snapshot/account.ts";
import { repoint } from "../../../src/runtime/snapshot/links.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));

function repointed(target: string, folder = "/home/me/work", copy = "/records/child"): string | undefined {
  const moved = repoint(bytes(target), bytes(folder), bytes(copy));
  return moved && Buffer.from(moved).toString();
}

test("the thread's text matches its modules; `bun scripts/snapshot-thread.ts` writes it", async () => {
  expect(await Bun.file(THREAD_TEXT).text()).toBe(await bundleThread());
});

test("a target inside the folder names the same place in the copy", () => {
  expect(repointed("/home/me/work")).toBe("/records/child");
  expect(repointed("/home/me/work/")).toBe("/records/child");
  expect(repointed("/home/me/work/a/b")).toBe("/records/child/a/b");
  expect(repointed("/home/me/work/a/")).toBe("/records/child/a/");
  expect(repointed("//home/./me//work/a")).toBe("/records/child/a");
  expect(repointed("/home/me/work/a/../b")).toBe("/records/child/a/../b");
  expect(repointed("/home/me/work/../work/b")).toBe("/records/child/b");
  expect(repointed("/a", "/", "/copy")).toBe("/copy/a");
  const odd = repoint(new Uint8Array([...bytes("/w/"), 0xff]), bytes("/w"), bytes("/c"));
  expect(odd).toEqual(new Uint8Array([...bytes("/c/"), 0xff]));
});

test("a folder that was named with a .. is known by the same steps", () => {
  const repointedIn = (target: string) => repointed(target, "/x/link/../work");
  expect(repointedIn("/x/link/../work")).toBe("/records/child");
  expect(repointedIn("/x/link/.././work/a/../b/")).toBe("/records/child/a/../b/");
  expect(repointedIn("/x/link/../work/../work/b")).toBe("/records/child/b");
  for (const target of ["/x/work/a", "/x/link/../worker", "/x/link/../work/a/../..", "/x/link/work/a"]) {
    expect(repointedIn(target)).toBeUndefined();
  }
});

test("every other target is unchanged", () => {
  for (const target of [
    "a",
    "../work/a",
    "./home/me/work",
    "/",
    "/home/me",
    "/home/me/worker",
    "/home/me/work-2/a",
  ]) {
    expect(repointed(target)).toBeUndefined();
  }
  for (const target of [
    "/home/me/work/..",
    "/home/me/work/../x",
    "/home/me/work/a/../../x",
    "/home/me/Work",
  ]) {
    expect(repointed(target)).toBeUndefined();
  }
});

test("the first 64 skipped entries are named, or fewer if that would be more than 32 KiB", () => {
  const short = openAccount();
  for (let entry = 0; entry < 100; entry++) skip(short, () => [bytes("d"), bytes(`${entry}`)], "fifo");
  const told = closeAccount(short, "/work");
  expect(told.skipped_count).toBe(100);
  expect(told.skipped.length).toBe(64);
  expect(told.skipped[63]).toEqual({ path: "d/63", reason: "fifo" });

  for (const name of ["x".repeat(3000), '"'.repeat(3000), "\u0001".repeat(3000), "\u00e9".repeat(1500)]) {
    const long = openAccount();
    for (let entry = 0; entry < 100; entry++) skip(long, () => [bytes(name)], "unreadable");
    const bounded = closeAccount(long, "/work");
    const size = Buffer.byteLength(JSON.stringify(bounded));
    expect(size).toBeLessThanOrEqual(32 * 1024);
    expect(bounded.skipped.length).toBeGreaterThan(0);
    const one = Buffer.byteLength(JSON.stringify(bounded.skipped[0]));
    expect(size + one + 1).toBeGreaterThan(32 * 1024);
  }
  const deep = openAccount();
  skip(deep, () => Array.from({ length: 400 }, () => bytes("x".repeat(200))), "fifo");
  expect(closeAccount(deep, "/work")).toMatchObject({ skipped_count: 1, skipped: [] });
});

test("a skipped entry has its own name or none: not a parent's, and with its byte order mark", () => {
  const account = openAccount();
  const lengths = [...Array(127).fill(255), 37];
  // The path of its folder would fit.
  skip(account, () => [...lengths, 255].map((length) => bytes("x".repeat(length))), "fifo");
  skip(account, () => [bytes("d"), bytes("\ufeffname")], "fifo");
  expect(closeAccount(account, "/work")).toMatchObject({
    skipped_count: 2,
    skipped: [{ path: "d/\ufeffname", reason: "fifo" }],
  });
});
