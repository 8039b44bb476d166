/** The effects of a pass over a UnitedDeployment: which there are, in which order, and with what. */
import t from "tap";
import { seededRandom } from "../../../kube/index.ts";
import { UnitedModel } from "../../../testkit/controller/united_deployment_model.ts";
import { setTemplate } from "../../../testkit/controller/united_world.ts";
import type { Effect, KindEffect } from "../../plan/effects.ts";
import { adoptionEffects, unitedEffects } from "./effects.ts";

function scene() {
  const world = new UnitedModel({
    metadata: { name: "web", namespace: "ns", uid: "u", generation: 1 },
    spec: {
      selector: { matchLabels: { app: "web" } },
      replicas: 4,
      template: setTemplate("a"),
      topology: { subsets: [{ name: "a" }, { name: "b" }] },
    },
  });
  world.settle();
  return world;
}

const effectsOf = (world: UnitedModel) => unitedEffects(world.object, world.plan(), seededRandom(1));

function told(effect: Effect | KindEffect): string {
  if (effect.type === "event") return effect.event.message;
  if (effect.type === "writes") return `${effect.pace}: ${effect.writes.map(told).join(", ")}`;
  return "resource" in effect ? `${effect.type} ${effect.resource} ${effect.name}` : effect.type;
}

t.test("a revision goes before what is made of it, deletions before creations", async (t) => {
  const world = scene();
  t.same(effectsOf(world), [], "nothing is left to do");
  world.change({
    template: setTemplate("b"),
    revisionHistoryLimit: 0,
    topology: { subsets: [{ name: "b" }, { name: "c" }, { name: "d" }] },
  });
  const effects = effectsOf(world);
  const { revision, creations } = world.plan();
  t.equal(creations.length, 2);
  t.match(effects.map(told), [
    "confirm object",
    `create revisions ${revision?.update.name}`,
    /^delete StatefulSet web-a-/,
    "Delete 1 Subset (StatefulSet)",
    /^slow start: create StatefulSet web-c-.....?, create StatefulSet web-d-.....?$/,
    /^slow start: patch StatefulSet web-b-/,
  ]);
  t.match(effects[1], { texts: { data: revision?.update.data }, existing: "any", priority: "high" });
  t.match(effects[2], { cascade: true, uid: /^uid-web-a-/ });
  t.match(effects[4], { writes: [{ existing: "own", body: { metadata: { generateName: "web-c-" } } }, {}] });
  const body = { metadata: { uid: /^uid-web-b/, resourceVersion: "" }, spec: { template: {} } };
  t.match(effects[5], { writes: [{ patch: { type: "merge", body } }] });
});

t.test("revisions beyond the limit go first, of the version that was seen", async (t) => {
  const world = scene();
  world.change({ template: setTemplate("b") });
  world.settle();
  world.change({ template: setTemplate("c"), revisionHistoryLimit: 0 });
  const [stored] = world.revisions;
  const [, first] = effectsOf(world);
  t.match(first, { type: "delete", resource: "revisions", name: stored?.name, resourceVersion: "1" });
});

t.test("a problem is an event once for each cause", async (t) => {
  const world = scene();
  const patch = { $patch: "mend" };
  world.change({ topology: { subsets: [{ name: "a" }, { name: "b", patch }] } });
  t.match(effectsOf(world).map(told), [
    /^Error updating PodSet \(StatefulSet\) web-b-1 when updating: unknown patch type: "mend"/,
  ]);
  world.pass();
  t.same(effectsOf(world), []);
  world.change({ topology: { subsets: [{ name: "a", replicas: 9 }] } });
  t.match(effectsOf(world).map(told), [
    /^Specified subset replicas is ineffective: specified subsets' replica \(9\)/,
  ]);
  world.pass();
  t.same(effectsOf(world), []);
});

t.test("broken pods go, and pods are labelled, all at once", async (t) => {
  const world = scene();
  world.full.add("a");
  world.full.add("b");
  world.change({ replicas: 6 });
  world.pass();
  world.work();
  world.change({ template: setTemplate("b") });
  world.pass();
  t.match(effectsOf(world).map(told), ["at once: delete pods web-a-0-2, delete pods web-b-1-2"]);
});

t.test("workloads are adopted only if the object is still there", async (t) => {
  const world = scene();
  const orphans = world.children.map((child) => ({ ...child, resourceVersion: "7", owners: [] }));
  t.match(adoptionEffects(world.object, orphans), [
    { type: "confirm object" },
    {
      type: "patch",
      resource: "StatefulSet",
      patch: {
        type: "merge",
        body: {
          metadata: { uid: /./, resourceVersion: "7", ownerReferences: [{ uid: "u", controller: true }] },
        },
      },
    },
    {},
  ]);
});
