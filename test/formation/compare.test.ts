import { describe, expect, test } from "bun:test";
import {
  changesText,
  compareFormations,
  type Formation,
  isUnchanged,
  parseFormation,
} from "../../src/formation/index.ts";
import { registryOf, spawns, type TestRegistry, testRegistry } from "./kit.ts";

const shown = (before: Formation, now: Formation) => [...changesText(compareFormations(before, now))];
const inspect = (registry: TestRegistry) => registry.inspect("local/root@1.0.0");

describe("a formation compared with an earlier one", () => {
  test("is unchanged if nothing changed, with any bounds", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": spawns("local/a", "local/b"),
      "local/a@1.0.0": {},
    });
    const before = await inspect(registry);
    const now = await registry.inspect("local/root@1.0.0", {
      limits: { maxLiveCapsules: 1, maxConcurrent: 9 },
    });
    expect(isUnchanged(compareFormations(before, now))).toBe(true);
    expect(shown(before, now)).toEqual(["Nothing changed."]);
  });

  test("lists what is newly granted, then what is no longer granted, then the rest", async () => {
    using registry = testRegistry();
    const listed = ["local/gone", "local/less", "local/more", "local/other", "local/same"];
    await registry.publish("local/root@1.0.0", { ...spawns(...listed), shell: { allow: ["git"] } });
    for (const name of ["gone", "less", "same"]) await registry.publish(`local/${name}@1.0.0`);
    await registry.publish("local/more@1.0.0", { shell: { allow: ["git", "jq"] } });
    await registry.publish("local/other@1.0.0", { shell: { allow: ["jq"] } });
    const before = await inspect(registry);
    await registry.publish("local/root@1.0.0", {
      ...spawns(...listed.slice(1), "local/new"),
      shell: { allow: ["git"] },
    });
    await registry.publish("local/less@1.0.0", { env: { allow: ["HOME"] } });
    await registry.publish("local/more@1.0.0", { shell: { allow: ["git"] } });
    await registry.publish("local/other@1.0.0", { shell: { allow: ["jq", "curl"] } });
    await registry.publish("local/new@1.0.0");
    const now = await inspect(registry);
    const root = "local/root@1.0.0";
    const bytes = (capsule: string) => {
      const hash = ({ capsules, edges }: Formation) =>
        [
          ...capsules.map((one) => [one.capsule, one.sha256]),
          ...edges.map((edge) => [
            "sha256" in edge ? `${edge.name}@${edge.version}` : "",
            "sha256" in edge ? edge.sha256 : "",
          ]),
        ].find(([named]) => named === capsule)?.[1] ?? "";
      return `  ${capsule}  ${hash(before).slice(0, 16)} > ${hash(now).slice(0, 16)}`;
    };
    expect(shown(before, now)).toEqual([
      "Newly granted:",
      `  ${root} > local/more@1.0.0`,
      "    before  refused: capabilities.shell.allow jq",
      "    now     granted",
      `  ${root} > local/new@1.0.0`,
      "    before  not listed, or not reached",
      "    now     granted",
      "No longer granted:",
      `  ${root} > local/less@1.0.0`,
      "    before  granted",
      "    now     refused: capabilities.env.allow HOME",
      `  ${root} > local/gone@1.0.0`,
      "    before  granted",
      "    now     not listed, or not reached",
      "Not granted, as before, but otherwise:",
      `  ${root} > local/other@1.0.0`,
      "    before  refused: capabilities.shell.allow jq",
      "    now     refused: capabilities.shell.allow jq, curl",
      "Other bytes under the same version:",
      ...[root, "local/more@1.0.0", "local/less@1.0.0", "local/other@1.0.0"].map(bytes),
    ]);
  });

  test("notices capabilities that grew without a changed verdict", async () => {
    using registry = testRegistry();
    const publish = async (shell: string[]) => {
      await registry.publish("local/root@1.0.0", { ...spawns("local/a"), shell: { allow: shell } });
      await registry.publish("local/a@1.0.0", { shell: { allow: shell } });
      return inspect(registry);
    };
    const changes = compareFormations(await publish([]), await publish(["curl"]));
    expect(isUnchanged(changes)).toBe(false);
    expect(changes.otherBytes.map(({ capsule }) => capsule)).toEqual(["local/root@1.0.0", "local/a@1.0.0"]);
  });

  test("names another root", async () => {
    using registry = await registryOf({
      "local/root@1.0.0": {},
      "local/root@1.1.0": {},
    });
    const [before, now] = [await inspect(registry), await registry.inspect("local/root@1.1.0")];
    expect(shown(before, now)).toEqual(["Another root: local/root@1.0.0 > local/root@1.1.0"]);
  });

  test("reads back printed output, and says what is wrong with anything else", async () => {
    using registry = testRegistry();
    await registry.publish("local/root@1.0.0", spawns("local/root", "local/a", "x"));
    const formation = await inspect(registry);
    const text = JSON.stringify(formation);
    expect(parseFormation(text)).toEqual({ ok: true, formation });
    const fault = (broken: string) => {
      const reading = parseFormation(broken);
      return reading.ok ? undefined : reading.fault;
    };
    const wanted = "is not a formation printed by --format json (mur-roost/formation/1)";
    expect(fault(text.slice(0, -1))).toBe("is not valid JSON");
    expect(fault("[]")).toBe(wanted);
    expect(fault(text.replace("formation/1", "formation/0"))).toBe(`${wanted}: look at /format`);
    expect(fault(text.replace('"depth":0', '"depth":-1'))).toBe(`${wanted}: look at /capsules/0/depth`);
    expect(fault(text.replace("not-in-registry", "granted"))).toBe(`${wanted}: look at /edges/1`);
  });
});
