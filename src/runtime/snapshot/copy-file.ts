/** Copying one file: cloned where the file system can, else its content. */

import { fault, ok, type Result } from "../../result.ts";
import { close, type Descriptor } from "../../sys/descriptors.ts";
import { createFileAt, type Name, openForReadingAt, removeAt } from "../../sys/entries.ts";
import { type Status, statusOf } from "../../sys/status.ts";
import { cloneWhole, copyContent, type Means } from "./content.ts";
import { ABORTED, type Copy, type CopyFault, failed, finish, skipped, unreadable } from "./copying.ts";

export function copyFile(
  copy: Copy,
  from: Descriptor,
  to: Descriptor,
  name: Name,
): Result<undefined, CopyFault> {
  const opened = openForReadingAt(from, name);
  if (!opened.ok) return unreadable(copy, name, opened.fault);
  try {
    const status = statusOf(opened.value);
    if (!status.ok) return unreadable(copy, name, status.fault);
    switch (status.value.kind) {
      case "file":
        break;
      case "fifo":
      case "socket":
      case "device":
        return skipped(copy, name, status.value.kind);
      default:
        return skipped(copy, name, "unreadable");
    }
    if (copy.account.bytes + status.value.size > copy.task.ceiling) return fault({ kind: "ceiling" });
    return writeFile(copy, opened.value, status.value, to, name);
  } finally {
    close(opened.value);
  }
}

function writeFile(
  copy: Copy,
  from: Descriptor,
  status: Status,
  to: Descriptor,
  name: Name,
): Result<undefined, CopyFault> {
  const means = meansFor(copy, status.device);
  const clone = cloneWhole(from, status, means, to, name);
  const created = clone.ok ? clone : createFileAt(to, name);
  if (!created.ok) return failed(copy, "made", [name], created.fault);
  try {
    let underWay = 0;
    const advance = (bytes: number) => {
      underWay += bytes;
      return copy.watch(copy.account, underWay);
    };
    const copied = clone.ok ? ok(status.size) : copyContent(from, created.value, status, means, advance);
    if (!copied.ok) {
      if (copied.fault.side === "abort") return ABORTED;
      if (copied.fault.side === "destination") return failed(copy, "written", [name], copied.fault.errno);
      const removed = removeAt(to, name);
      if (!removed.ok) return failed(copy, "removed", [name], removed.fault);
      return unreadable(copy, name, copied.fault.errno);
    }
    const set = finish(created.value, status);
    if (!set.ok) return failed(copy, "finished", [name], set.fault);
    copy.account.files++;
    copy.account.bytes += copied.value;
    return ok(undefined);
  } finally {
    close(created.value);
  }
}

function meansFor(copy: Copy, device: number): Means {
  const known = copy.means.get(device) ?? { clone: true, withinKernel: true };
  copy.means.set(device, known);
  return known;
}
