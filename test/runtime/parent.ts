import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Clock,
  type Coordinates,
  canDelegate,
  type DelegatingSession,
  type LaunchedChild,
  type LaunchOutcome,
  type LaunchRequest,
  launch,
  openSession,
  parseArtifactName,
  parseArtifactVersion,
} from "../../src/runtime/index.ts";
import { patientClock } from "../kit/patient-clock.ts";
import { shared } from "../kit/shared.ts";
import { childBinary, createWorld, ROOMY, type World } from "./world.ts";

/** `<name>@0.1.0`, as a request names it. */
export function coordinates(text: string, written = "0.1.0"): Coordinates {
  const name = parseArtifactName(text);
  const version = parseArtifactVersion(written);
  if (!name || !version) throw new Error(`${text} is no capsule`);
  return { name, version };
}

/** The run of a capsule that nobody delegated. */
export function runOf(capsule: string, workdir: string) {
  const plain = { grantOnStdin: false, readinessTokens: false, parentWorkdir: undefined };
  return { ...coordinates(capsule), workdir, ...plain };
}

/** What differs from a plain launch of `local/worker`. */
export type LaunchHow = Partial<LaunchRequest> & {
  readonly clock?: Clock;
  /** On top of the parent's own. */
  readonly environment?: Record<string, string>;
};

/** A parent session in the test's own process, and what it has written. */
export interface TestParent {
  readonly session: DelegatingSession;
  /** The program of its children. */
  readonly binary: string;
  /** The parent's process environment. */
  readonly environment: Record<string, string>;
  /** Launches `local/worker`, whose program does as `mode` says (child-program.ts). */
  launch(mode: string, how?: LaunchHow): Promise<LaunchOutcome>;
  launched(mode: string, how?: LaunchHow): Promise<LaunchedChild>;
  /** What the daemon says of a session. */
  statusOf(sessionId: string): Promise<string>;
  /** The names of the children's work folders. */
  children(): string[];
  /** Both of its standard streams, as Latin-1. */
  written(): string;
  forget(): void;
}

/** What the parent's manifest declares; the worker's is within it. */
export const PARENT = "spawn: {allow: [local/worker]}, env: {allow: [CHILD_MODE, ONLY_PARENT]}";
export const WORKER = "env: {allow: [CHILD_MODE]}";

export interface Manifests {
  readonly parent?: string;
  readonly worker?: string;
}

/** One world for all tests of the file that calls this; `more` is what they need besides. */
export function sharedWorld(more?: (world: World) => unknown): () => World {
  return shared(async (undo) => {
    const world = undo.adopt(await createWorld(ROOMY), (made) => made.stop());
    await more?.(world);
    return world;
  });
}

/** Such a world, and one parent in it. */
export function sharedParent(manifests: Manifests = {}) {
  const world = sharedWorld();
  const parent = shared(async () => openParent(world(), await childBinary(), manifests));
  return { world, parent };
}

export async function openParent(
  world: World,
  binary: string,
  manifests: Manifests = {},
): Promise<TestParent> {
  const { parent = PARENT, worker = WORKER } = manifests;
  await world.publish("local/parent", parent);
  await world.publish("local/worker", worker);
  if (world.registry.endsWith("judged")) await world.publish("local/parent", parent, world.registry);
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? "",
    HOME: world.home,
    MURMUR_ROOST_URL: `${world.roostUrl}/`,
    MURMUR_MUR_BINARY: binary,
    ONLY_PARENT: "only the parent's manifest allows this",
    SECRET_OF_PARENT: "no manifest allows this",
  };
  let written = "";
  const keep = async (bytes: Uint8Array) => {
    written += Buffer.from(bytes).toString("latin1");
  };
  const opened = await openSession({
    run: runOf("local/parent", world.workdir),
    environment,
    output: { stdout: keep, stderr: keep },
  });
  if (!opened.ok || !canDelegate(opened.value)) throw new Error(JSON.stringify(opened));
  const session = { ...opened.value, clock: patientClock };
  const launchAs = (mode: string, how: LaunchHow = {}) => {
    const { clock = patientClock, environment: more, ...request } = how;
    const lent = { ...session, clock, environment: { ...environment, CHILD_MODE: mode, ...more } };
    return launch(lent, { ...coordinates("local/worker"), contextId: "ctx_test", ...request });
  };
  return {
    session,
    binary,
    environment,
    launch: launchAs,
    async launched(mode, how) {
      const outcome = await launchAs(mode, how);
      if (outcome.kind !== "launched") throw new Error(JSON.stringify(outcome));
      return outcome.child;
    },
    async statusOf(sessionId) {
      const answer = await session.registration.client.status(sessionId);
      if (answer.kind !== "granted") throw new Error(JSON.stringify(answer));
      return answer.value.status;
    },
    children() {
      const folder = join(session.directories.records.path, "children");
      return existsSync(folder) ? readdirSync(folder) : [];
    },
    written: () => written,
    forget() {
      written = "";
    },
  };
}
