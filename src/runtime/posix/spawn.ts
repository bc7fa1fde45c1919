/**
 * Starting a program with exactly the descriptors that it is given (`posix_spawn`).
 *
 * Nothing else of this process is handed on: every other descriptor is closed, every signal does what it does by
 * default, and none is blocked. No directory of `PATH` is searched.
 */

import { ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { fault, ok } from "../result.ts";
import { type Descriptor, faultOf, library, optional, type Posix } from "./libc.ts";
import { MACOS } from "./platform.ts";

const calls = library({
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
  sigemptyset: { args: ["ptr"], returns: "i32" },
});

/** glibc from 2.34. */
const addCloseFrom = optional("posix_spawn_file_actions_addclosefrom_np", {
  args: ["ptr", "i32"],
  returns: "i32",
});

const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
/** macOS: closes what no file action names. */
const POSIX_SPAWN_CLOEXEC_DEFAULT = 0x4000;
/** Room for a `sigset_t`: 128 bytes on Linux, 4 on macOS. */
const SIGNAL_SET_BYTES = 128;
/** Room for both structures of either platform: glibc's take 80 and 336 bytes, macOS's are pointers. */
const STRUCTURE_BYTES = 512;

export interface SpawnPlan {
  /** The program, by an absolute path. */
  readonly program: string;
  /** What it hears itself called by first, then its arguments. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The directory that it starts in, held. */
  readonly directory: Descriptor;
  /** Each becomes the descriptor of its place: the first is standard input. None is one of this process's own three. */
  readonly descriptors: readonly Descriptor[];
}

/** Starts the program; its process id. The fault is the system's, of the program or of the directory too. */
export function spawnProcess(plan: SpawnPlan): Posix<number> {
  const texts = [plan.program, ...plan.argv, ...Object.entries(plan.environment).flat()];
  if (texts.some((text) => text.includes("\0")) || plan.descriptors.some((one) => one < 3))
    return fault("EINVAL");
  const actions = new Uint8Array(STRUCTURE_BYTES);
  const attributes = new Uint8Array(STRUCTURE_BYTES);
  const argv = strings(plan.argv);
  const environment = strings(Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`));
  const pid = new Int32Array(1);
  calls.posix_spawn_file_actions_init(actions);
  calls.posix_spawnattr_init(attributes);
  try {
    const failed =
      describeFiles(actions, plan) ||
      describeSignals(attributes) ||
      calls.posix_spawn(pid, encoded(plan.program), actions, attributes, argv, environment);
    return failed === 0 ? ok(pid[0] ?? 0) : faultOf(failed);
  } finally {
    calls.posix_spawn_file_actions_destroy(actions);
    calls.posix_spawnattr_destroy(attributes);
    pointedTo.length = 0;
  }
}

/** The descriptors are all above 2, so that none is overwritten before it was put in its place. */
function describeFiles(actions: Uint8Array, { directory, descriptors }: SpawnPlan): number {
  let failed = calls.posix_spawn_file_actions_addfchdir_np(actions, directory);
  for (const [number, descriptor] of descriptors.entries()) {
    failed ||= calls.posix_spawn_file_actions_adddup2(actions, descriptor, number);
  }
  if (MACOS) return failed;
  if (addCloseFrom) return failed || addCloseFrom(actions, descriptors.length);
  // An older C library: one by one, and one that is closed by then is no failure.
  for (const open of readdirSync("/proc/self/fd").map(Number)) {
    if (open >= descriptors.length) failed ||= calls.posix_spawn_file_actions_addclose(actions, open);
  }
  return failed;
}

function describeSignals(attributes: Uint8Array): number {
  const set = new Uint8Array(SIGNAL_SET_BYTES);
  const flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (MACOS ? POSIX_SPAWN_CLOEXEC_DEFAULT : 0);
  let failed = calls.posix_spawnattr_setflags(attributes, flags);
  calls.sigfillset(set);
  failed ||= calls.posix_spawnattr_setsigdefault(attributes, set);
  calls.sigemptyset(set);
  return failed || calls.posix_spawnattr_setsigmask(attributes, set);
}

const encoder = new TextEncoder();

function encoded(text: string): Uint8Array {
  return encoder.encode(`${text}\0`);
}

/** What a number points to is referred to by nothing else. */
const pointedTo: Uint8Array[] = [];

/** Texts as a C program has them: pointers to bytes that end in 0, and a null pointer after the last. */
function strings(texts: readonly string[]): BigUint64Array {
  const bytes = encoded(texts.join("\0"));
  pointedTo.push(bytes);
  const pointers = new BigUint64Array(texts.length + 1);
  const start = ptr(bytes);
  let offset = 0;
  for (const [at, text] of texts.entries()) {
    pointers[at] = BigInt(start + offset);
    offset += Buffer.byteLength(text) + 1;
  }
  return pointers;
}
