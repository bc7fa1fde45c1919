/** The workdir snapshot: a copy of the parent's work folder in its child's (API page, "Workdir snapshot"). */

import { messageOf } from "../../os-error.ts";
import { fault, ok, type Result } from "../../result.ts";
import { close } from "../../sys/descriptors.ts";
import { encodeName, openAgain } from "../../sys/entries.ts";
import { describeError, type Errno, type Posix } from "../../sys/library.ts";
import { statusAt, statusOf } from "../../sys/status.ts";
import { identityOf } from "../tree/descent.ts";
import type { HeldDirectory } from "../tree/held.ts";
import {
  ABORTED,
  type CopyFault,
  type CopyTask,
  OWNED_NAMES,
  type SnapshotProgress,
  type WorkdirSnapshot,
} from "./account.ts";
import THREAD from "./thread.bundle.txt" with { type: "text" };
import type { ThreadOrder, ThreadReport } from "./thread.ts";

export interface SnapshotRequest {
  /** The parent's work folder, as a resolved path. */
  readonly source: HeldDirectory;
  /**
   * The same folder as its user named it, as an absolute path, if that differs. Links that use it are re-pointed too.
   */
  readonly sourceAlias?: string;
  /** The child's work folder, which is empty. */
  readonly destination: HeldDirectory;
  /** The child's `capabilities.resources.workdir_max_bytes`. */
  readonly ceilingBytes: number;
  /** Directories of the parent's runtime, which are not copied: its runtime and its records directory. */
  readonly runtimeOwned: readonly HeldDirectory[];
  /** Called now and then during the copy, and once when it is complete. */
  readonly onProgress?: (progress: SnapshotProgress) => void;
  /** Cancels the copy when it aborts: after the system call that the thread is in, however long the disk takes. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Why there is no copy. `broken` is a bug in this library; `no-thread` means that the host allows no further thread.
 */
type Cause = CopyFault | { readonly kind: "broken" | "no-thread"; readonly message: string };
type Outcome = Result<WorkdirSnapshot, Cause>;

export interface SnapshotFault {
  readonly kind: Cause["kind"];
  /** A phrase that follows a mention of the child and says what to change. */
  readonly message: string;
}

/**
 * Copies a work folder. This runs in a separate thread, so that it does not use the event loop's time or make it wait
 * for a disk. The counts are of what was copied. If the folder changes meanwhile, each entry is copied as it is when
 * reached.
 *
 * After any fault the destination is empty again, and the caller removes it. `ceiling`: the folder holds more than the
 * child may have. `aborted`: by the signal. `failed`: the disk is full, or another error. An entry that cannot be read
 * is no failure: it is skipped and counted.
 */
export async function snapshotWorkdir(
  request: SnapshotRequest,
): Promise<Result<WorkdirSnapshot, SnapshotFault>> {
  const copied = request.signal?.aborted ? ABORTED : await copyFolder(request);
  return copied.ok ? copied : fault({ kind: copied.fault.kind, message: describe(request, copied.fault) });
}

/** The copy has descriptors of its own, because the caller may close theirs meanwhile. */
async function copyFolder(request: SnapshotRequest): Promise<Outcome> {
  const owned = ownedDirectories(request);
  if (!owned.ok) return unopened(owned.fault);
  const source = openAgain(request.source.descriptor);
  if (!source.ok) return unopened(source.fault);
  try {
    const destination = openAgain(request.destination.descriptor);
    if (!destination.ok) return unopened(destination.fault);
    try {
      return await runThread(request, {
        from: source.value,
        to: destination.value,
        fromPaths: [request.source.path, request.sourceAlias ?? request.source.path].map(encodeName),
        toPath: encodeName(request.destination.path),
        ceiling: request.ceilingBytes,
        ownedDirectories: owned.value,
      });
    } finally {
      close(destination.value);
    }
  } finally {
    close(source.value);
  }
}

function unopened(errno: Errno): Outcome {
  return fault({ kind: "failed", doing: "opened", path: "", errno });
}

/** By identity, not by name: a name may be spelt differently, or name something else by the time it is reached. */
function ownedDirectories({ source, destination, runtimeOwned }: SnapshotRequest): Posix<Set<string>> {
  const owned = new Set<string>();
  for (const { descriptor } of [destination, ...runtimeOwned]) {
    const status = statusOf(descriptor);
    if (!status.ok) return status;
    owned.add(identityOf(status.value));
  }
  for (const name of OWNED_NAMES) {
    const status = statusAt(source.descriptor, name);
    if (status.ok && status.value.kind === "directory") owned.add(identityOf(status.value));
  }
  return ok(owned);
}

function runThread({ source, signal, onProgress }: SnapshotRequest, task: CopyTask): Promise<Outcome> {
  const order: ThreadOrder = { task, source: source.path, abort: new SharedArrayBuffer(4) };
  const abort = () => Atomics.store(new Int32Array(order.abort), 0, 1);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const script = URL.createObjectURL(new Blob([THREAD], { type: "application/javascript" }));
  let thread: Worker;
  try {
    thread = new Worker(script);
  } catch (error) {
    URL.revokeObjectURL(script);
    const message = messageOf(error);
    return Promise.resolve(fault({ kind: "no-thread", message }));
  }
  thread.onmessage = ({ data }: MessageEvent<ThreadReport>) => {
    if (data.kind === "progress") onProgress?.(data.progress);
    else resolve(data.copied);
  };
  // The thread could not be started, or its code has a bug.
  thread.onerror = ({ message }) => resolve(fault({ kind: "broken", message }));
  signal?.addEventListener("abort", abort, { once: true });
  thread.postMessage(order);
  return promise.finally(async () => {
    signal?.removeEventListener("abort", abort);
    URL.revokeObjectURL(script);
    // The thread has its own descriptors until it has ended.
    const gone = new Promise((resolve) => thread.addEventListener("close", resolve, { once: true }));
    thread.terminate();
    await gone;
  });
}

function describe({ source, destination, ceilingBytes }: SnapshotRequest, found: Cause): string {
  const limit = "capabilities.resources.workdir_max_bytes";
  const copying = `the work folder ${source.path} could not be copied to ${destination.path} (at most ${ceilingBytes} bytes by ${limit})`;
  switch (found.kind) {
    case "ceiling":
      return `the work folder ${source.path} holds more than the ${ceilingBytes} bytes that this capsule's copy of it may hold; raise ${limit} in its manifest, or take something out of the folder`;
    case "aborted":
      return `${copying}: it was given up`;
    case "failed":
      return `${copying}: ${found.path || "the folder"} could not be ${found.doing}: ${describeError(found.errno)}`;
    case "no-thread":
      return `${copying}: no thread could be started to copy it: ${found.message}; let this process have more threads, or take the capsule out of capabilities.spawn.workdir_snapshot`;
    case "broken":
      return `${copying}: the copying thread failed: ${found.message}`;
    default:
      return found satisfies never;
  }
}
