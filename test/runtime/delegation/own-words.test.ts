/** The launcher's own words stay whole, even if a child chose a token that is a part of them. */

import { expect, test } from "bun:test";
import { callDoor } from "../../../src/runtime/delegation/a2a.ts";
import { parseDoorUrl, Secret } from "../../../src/runtime/index.ts";
import { patientClock } from "../../kit/patient-clock.ts";
import { rawServers } from "../../kit/raw-server.ts";
import { playedTask, settled, WATCH_SECS } from "./played.ts";

const doorThat = rawServers();
const E = new Secret("e");
const launched = { secrets: [E], operatorToken: E };
const LAST_LINE = "a last lin*";

test("in the record of a child that its task ended", async () => {
  const played = playedTask();
  const child = await played.start({ launched });
  await played.task.cancel();
  expect(child.record()).toMatchObject({
    status: "terminated",
    detail: "the parent ended this delegation",
  });
});

test("in the record of a child that was ended at its deadline, and its last lines are redacted", async () => {
  const played = playedTask();
  const child = await played.start({ launched });
  await settled(played);
  const bound = "lifecycle.delegation_deadline_secs, MURMUR_DELEGATION_TIMEOUT_SECS";
  expect(child.record().detail).toBe(
    `still running at its deadline of ${WATCH_SECS}s (${bound})\nexit status: 0\n${LAST_LINE}`,
  );
});

test("in the record of a child that crashed, and its last lines are redacted", async () => {
  const played = playedTask();
  const child = await played.start({ launched });
  child.leave({ kind: "exited", status: 3 });
  await settled(played);
  expect(child.record()).toMatchObject({ status: "crashed", detail: `exit status: 3\n${LAST_LINE}` });
});

test("in the reason why a door's answer is of no use", async () => {
  const server = await doorThat((socket) =>
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789"),
  );
  const door = parseDoorUrl(server.url);
  if (!door) throw new Error("no door");
  const asked = { door, id: "dlg_1", method: "GetTask", params: {}, token: E, maxAnswerBytes: 1 };
  expect(await callDoor(asked, patientClock)).toMatchObject({ reason: "the answer is longer than 1 bytes" });
});
