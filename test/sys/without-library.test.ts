/** If the C library cannot be called, every function returns that as a value, and no import or call throws. */

import { expect, test } from "bun:test";
import { join } from "node:path";

const SYS = join(import.meta.dir, "../../src/sys");

/** Makes a call of every subject, and prints what each came to. */
const PROGRAM = `
  const from = (file) => import("${SYS}/" + file + ".ts");
  const { libraryFault } = await from("library");
  const { cloneFileAt, createFileAt, encodeName, makeDirectoryAt, openDirectoryPath, readLinkAt, setModeAt } = await from("entries");
  const { statusOf, statusAt, listDirectory } = await from("status");
  const { copyRange, cloneContent, read, seek, setLength, setMode, setModified, write } = await from("content");
  const { close, isReadable, isReadOnly, openPipe, readable, sendAtOnce, setCloseOnExec, writable } = await from("descriptors");
  const { collect, darwinStartTime, keepExitStatuses, openProcess, signalProcess } = await from("process");
  const { spawnProcess } = await from("spawn");
  const name = encodeName("name");
  const bytes = new Uint8Array(8);
  const faults = [
    openDirectoryPath("/"), createFileAt(9, name), makeDirectoryAt(9, name, 0o700), readLinkAt(9, name),
    setModeAt(9, name, 0o700), cloneFileAt(9, 9, name), setMode(9, 0o700),
    setModified(9, { seconds: 0, nanoseconds: 0 }), statusOf(9), statusAt(9, name), copyRange(9, 9, 1),
    cloneContent(9, 9), read(9, bytes), write(9, bytes), seek(9, 0, "start"), setLength(9, 0), setCloseOnExec(9),
    listDirectory(9), openPipe(), collect(process.pid), darwinStartTime(process.pid), openProcess(process.pid),
    signalProcess(process.pid, undefined, "SIGTERM"), keepExitStatuses(), sendAtOnce(9, bytes),
    spawnProcess({ program: "/bin/true", argv: [], environment: {}, directory: 9, descriptors: [] }),
  ].map((result) => result.fault);
  const told = [isReadable(0), isReadOnly(0), readable([0])[0], writable(0)];
  close(9);
  console.log(JSON.stringify({ why: libraryFault(), faults: [...new Set(faults)], told: [...new Set(told)] }));
`;

test.each<[string, string, Record<string, string>, string]>([
  // What a host that refuses writable-executable memory comes to.
  ["on a host that refuses it", PROGRAM, { BUN_JSC_useJIT: "0" }, "bun:ffi"],
  [
    "on a platform that this folder does not know",
    `Object.defineProperty(process, "platform", { value: "freebsd" }); ${PROGRAM}`,
    {},
    "freebsd is neither linux nor darwin",
  ],
])("no call throws %s", async (_, program, environment, why) => {
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual({
    why: expect.stringContaining(why),
    faults: ["ENOSYS"],
    told: [false],
  });
});
