import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { assertAllNew, imageOf, nameOf, onlyOf, records, uidOf } from "./items.ts";
import { claimTemplate, volumes } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { Workload } from "./workload.ts";

export const suite: Suite = {
  number: "s21",
  title: "A claim template that is added: pods that run keep running, those that are made have it",
  needs: [],
  async run(world) {
    const storage = `added-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 8));
    await world.step("1 StatefulSet", () => addedToStatefulSet(new StatefulSet(world, "db"), storage));
    await world.step("2 CloneSet", () => addedToCloneSet(new CloneSet(world, "web"), storage));
  },
};

/** Adds a template, then another image: an update in place leaves the volumes of a pod as they are. Returns the pods. */
async function addTemplate(workload: Workload, storage: string): Promise<Item[]> {
  const before = await workload.pods();
  await workload.mergeSpec({ volumeClaimTemplates: [claimTemplate("data", storage)] });
  await quiet(workload);
  assert.deepEqual((await workload.pods()).map(uidOf), before.map(uidOf));
  await workload.toImage("nginx:1.21");
  await workload.world.until("updated in place", async () => {
    const pods = await workload.pods();
    assert.deepEqual(pods.map(uidOf), before.map(uidOf));
    assert.deepEqual(pods.map(imageOf), ["nginx:1.21", "nginx:1.21"]);
  });
  return before;
}

async function addedToStatefulSet(db: StatefulSet, storage: string): Promise<void> {
  await db.start({
    replicas: 2,
    rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" },
    podSpec: { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
  });
  const before = await addTemplate(db, storage);
  await quiet(db);
  for (const pod of before) await db.world.remove("pods", nameOf(pod));
  await db.world.until("made anew with claims", async () => {
    const pods = await db.pods();
    assert.equal(pods.length, 2);
    assertAllNew(pods, before);
    for (const pod of pods) assert.equal(claimOf(pod), `data-${nameOf(pod)}`);
  });
  await db.untilAll(2);
}

async function addedToCloneSet(web: CloneSet, storage: string): Promise<void> {
  await web.start({ replicas: 2, strategy: { policy: "InPlaceIfPossible" } });
  const before = (await addTemplate(web, storage)).map(uidOf);
  await web.scale(3);
  await web.world.until("a new one has a claim", async () => {
    const added = onlyOf((await web.pods()).filter((pod) => !before.includes(uidOf(pod))));
    assert.match(String(claimOf(added)), /^data-web-/);
    await web.assertAll(3);
  });
  await quiet(web);
}

function claimOf({ spec }: Item): unknown {
  const claims = records(spec?.["volumes"]).map(
    (volume) => Object(volume["persistentVolumeClaim"]).claimName,
  );
  return claims.find((name) => name !== undefined);
}

/** Nobody tries without end what the API server refuses: no event says so, and the status says that all is well. */
async function quiet(workload: Workload): Promise<void> {
  const { world, kind, resource, name } = workload;
  await workload.untilObserved();
  await world.stays(async () => {
    const warnings = (await world.list("events")).filter(
      (event) => event["type"] === "Warning" && Object(event["involvedObject"]).kind === kind,
    );
    assert.deepEqual(warnings, []);
    await world.assertObserved(resource, name);
    const { conditions = [] } = (await world.object(resource, name)).status ?? {};
    assert.deepEqual(
      conditions.filter(({ type }) => type.startsWith("Failed")),
      [],
    );
  });
}
