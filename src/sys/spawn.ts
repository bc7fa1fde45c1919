/**
 * Starts a program with exactly the descriptors that it is given (`posix_spawn`).
 *
 * The program gets nothing else from this process. Every other descriptor is closed, every signal has its default
 * action, and none is blocked. Only SIGHUP stays ignored if this process ignores it, because `nohup` is meant for all
 * that a program starts. `PATH` is not searched.
 */

import { ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { constants } from "node:os";
import { fault, ok } from "../result.ts";
import type { Descriptor } from "./descriptors.ts";
import { callsOf, faultOf, linuxCallsOf, MACOS, NO_CALL, type Posix } from "./library.ts";

const libc = callsOf({
  posix_spawn: { args: ["ptr", "ptr", "ptr", "ptr", "ptr", "ptr"], returns: "i32" },
  posix_spawn_file_actions_init: { args: ["ptr"], returns: "i32" },
  posix_spawn_file_actions_destroy: { args: ["ptr"], returns: "i32" },
  posix_spawn_file_actions_adddup2: { args: ["ptr", "i32", "i32"], returns: "i32" },
  posix_spawn_file_actions_addclose: { args: ["ptr", "i32"], returns: "i32" },
  posix_spawn_file_actions_addfchdir_np: { args: ["ptr", "i32"], returns: "i32" },
  posix_spawnattr_init: { args: ["ptr"], returns: "i32" },
  posix_spawnattr_destroy: { args: ["ptr"], returns: "i32" },
  posix_spawnattr_setflags: { args: ["ptr", "i16"], returns: "i32" },
  posix_spawnattr_setsigdefault: { args: ["ptr", "ptr"], returns: "i32" },
  posix_spawnattr_setsigmask: { args: ["ptr", "ptr"], returns: "i32" },
  sigfillset: { args: ["ptr"], returns: "i32" },
  sigdelset: { args: ["ptr", "i32"], returns: "i32" },
  sigemptyset: { args: ["ptr"], returns: "i32" },
});
type SpawnCalls = NonNullable<ReturnType<typeof libc>>;

/** glibc from 2.34. */
const newer = linuxCallsOf({
  posix_spawn_file_actions_addclosefrom_np: { args: ["ptr", "i32"], returns: "i32" },
});

const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
/** macOS: closes the descriptors that no file action names. */
const POSIX_SPAWN_CLOEXEC_DEFAULT = 0x4000;
/** Room for a `sigset_t`: 128 bytes on Linux, 4 on macOS. */
const SIGNAL_SET_BYTES = 128;
/** Room for both structures of either platform: glibc's take 80 and 336 bytes, macOS's are pointers. */
const STRUCTURE_BYTES = 512;

export interface SpawnPlan {
  /** The program, by an absolute path. */
  readonly program: string;
  /** The name that the program is called by, then its arguments. */
  readonly argv: readonly string[];
  /** A value is a text, or bytes. */
  readonly environment: Readonly<Record<string, string | Uint8Array>>;
  /** The directory that it starts in, held open. */
  readonly directory: Descriptor;
  /** Each becomes the descriptor of its index: the first is standard input. None may be 0, 1 or 2 of this process. */
  readonly descriptors: readonly Descriptor[];
}

/**
 * Starts the program and returns its process id. The fault is the system's, and may concern the program or the
 * directory.
 */
export function spawnProcess(plan: SpawnPlan): Posix<number> {
  const texts = plan.argv.map(encoded);
  const variables = Object.entries(plan.environment).map(([name, value]) =>
    Buffer.concat([encoded(`${name}=`), encoded(value)]),
  );
  const program = encoded(plan.program);
  const hasNul = [program, ...texts, ...variables].some((bytes) => bytes.includes(0));
  if (hasNul || plan.descriptors.some((one) => one < 3)) return fault("EINVAL");
  const calls = libc();
  if (!calls) return NO_CALL;
  const actions = new Uint8Array(STRUCTURE_BYTES);
  const attributes = new Uint8Array(STRUCTURE_BYTES);
  const argv = strings(texts);
  const environment = strings(variables);
  const pid = new Int32Array(1);
  calls.posix_spawn_file_actions_init(actions);
  calls.posix_spawnattr_init(attributes);
  try {
    const failed =
      describeFiles(calls, actions, plan) ||
      describeSignals(calls, attributes) ||
      calls.posix_spawn(pid, Buffer.concat([program, NUL]), actions, attributes, argv, environment);
    return failed === 0 ? ok(pid[0] ?? 0) : faultOf(failed);
  } finally {
    calls.posix_spawn_file_actions_destroy(actions);
    calls.posix_spawnattr_destroy(attributes);
    pointedTo.length = 0;
  }
}

/** The descriptors are all above 2, so none is overwritten before it is put in its place. */
function describeFiles(
  calls: SpawnCalls,
  actions: Uint8Array,
  { directory, descriptors }: SpawnPlan,
): number {
  let failed = calls.posix_spawn_file_actions_addfchdir_np(actions, directory);
  for (const [number, descriptor] of descriptors.entries()) {
    failed ||= calls.posix_spawn_file_actions_adddup2(actions, descriptor, number);
  }
  if (MACOS) return failed;
  const atOnce = newer();
  if (atOnce) return failed || atOnce.posix_spawn_file_actions_addclosefrom_np(actions, descriptors.length);
  // An older C library: closes them one by one. It is no failure if one is already closed.
  for (const open of readdirSync("/proc/self/fd").map(Number)) {
    if (open >= descriptors.length) failed ||= calls.posix_spawn_file_actions_addclose(actions, open);
  }
  return failed;
}

function describeSignals(calls: SpawnCalls, attributes: Uint8Array): number {
  const set = new Uint8Array(SIGNAL_SET_BYTES);
  const flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (MACOS ? POSIX_SPAWN_CLOEXEC_DEFAULT : 0);
  let failed = calls.posix_spawnattr_setflags(attributes, flags);
  calls.sigfillset(set);
  calls.sigdelset(set, constants.signals.SIGHUP);
  failed ||= calls.posix_spawnattr_setsigdefault(attributes, set);
  calls.sigemptyset(set);
  return failed || calls.posix_spawnattr_setsigmask(attributes, set);
}

const NUL = new Uint8Array(1);

function encoded(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? Buffer.from(text) : text;
}

/** Keeps arrays alive that are only referenced by their address. */
const pointedTo: Uint8Array[] = [];

/** Texts as a C program expects them: pointers to bytes that end in 0, then a null pointer. */
function strings(texts: readonly Uint8Array[]): BigUint64Array {
  // Never empty: nothing has no address.
  const bytes = Buffer.concat([...texts.flatMap((text) => [text, NUL]), NUL]);
  pointedTo.push(bytes);
  const pointers = new BigUint64Array(texts.length + 1);
  const start = ptr(bytes);
  let offset = 0;
  for (const [at, text] of texts.entries()) {
    pointers[at] = BigInt(start + offset);
    offset += text.length + 1;
  }
  return pointers;
}
