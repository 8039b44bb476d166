import assert from "node:assert/strict";
import { nameOf, reportsReady } from "./items.ts";
import { paste } from "./pasted.ts";
import { type Situation, situations } from "./situations.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** What `why` says first, and that what it says to type can be typed. */
export const suite: Suite = {
  number: "y01",
  title: "why: situations in which workloads get stuck",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const [last, others] = [situations.filter(isLast), situations.filter((each) => !isLast(each))];
    await world.step("0 all are made", async () => {
      for (const { made } of others) for (const manifest of made) await make(world, manifest);
      for (const situation of others) await change(world, situation);
    });
    for (const situation of others) await explained(world, situation);
    for (const situation of last) {
      await world.step(`0 ${situation.title} is made`, async () => {
        for (const manifest of situation.made) await make(world, manifest);
      });
      await explained(world, situation);
    }
  },
};

const isLast = (situation: Situation): boolean => situation.isLast === true;

/** A WorkloadSpread has to be known before the pods that it spreads. */
async function make(world: World, manifest: object): Promise<void> {
  const { kind, metadata } = await world.apply(manifest);
  if (kind !== "WorkloadSpread") return;
  await world.once(`${metadata.name} is observed`, () =>
    world.assertObserved("workloadspreads.v1beta1.apps.kruise.io", metadata.name),
  );
}

async function change(world: World, { words, changed }: Situation): Promise<void> {
  if (changed === undefined) return;
  const [short = "", name = ""] = words.split("/");
  const [kind, resource] = short === "asts" ? ["StatefulSet", "statefulsets"] : ["CloneSet", "clonesets"];
  await world.once(`the pods of ${name} are ready`, async () => {
    const { spec } = await world.object(resource, name);
    const pods = await world.controlled(kind, name);
    assert.equal(pods.filter(reportsReady).length, spec?.replicas ?? 1);
  });
  await world.patch(resource, name, "merge", changed);
}

interface Answer {
  readonly state: string;
  readonly reasons: readonly { readonly reason: string; readonly message: string; readonly next?: string }[];
}

async function explained(world: World, situation: Situation): Promise<void> {
  const { title, words, first, says, next, ends, notOnCluster } = situation;
  if (notOnCluster !== undefined && !world.simulated) return world.skip(title, notOnCluster);
  await world.step(title, async () => {
    let command = "";
    await world.once(
      `why names ${first}`,
      async () => {
        const { reasons } = await answer(world, words);
        const [reason] = reasons;
        assert.equal(reason?.reason, first, JSON.stringify(reasons));
        assert.match(reason.message, says);
        command = reason.next ?? "";
        assert.equal(await shortened(world, command), next);
      },
      120_000,
    );
    await paste(world, command);
    if (ends !== true) return;
    await world.once(`${words} gets on`, async () => {
      const { state, reasons } = await answer(world, words);
      assert.equal(state, "done", JSON.stringify(reasons));
    });
  });
}

async function answer(world: World, words: string): Promise<Answer> {
  const { stdout, stderr } = await world.refit("why", words, "-o", "json");
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

/** Without what differs from run to run. */
async function shortened(world: World, command: string): Promise<string> {
  const names = (await world.list("pods")).map(nameOf).sort((a, b) => b.length - a.length);
  const plain = command.replaceAll(` -n ${world.namespace}`, "");
  return names.reduce((text, name) => text.replaceAll(name, "POD"), plain);
}
