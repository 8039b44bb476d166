import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { claimTemplate, cloneSet, container, imagePatch, volumes } from "./manifests.ts";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const uid = ({ metadata }: Item): string => metadata.uid;
const imageOf = ({ spec }: Item): string | undefined => spec?.containers?.[0]?.image;

export const suite: Suite = {
  number: "s21",
  title: "A claim template that is added: pods that run keep running, those that are made have it",
  needs: [],
  async run(world) {
    const storage = `added-${world.namespace}`;
    await world.applyVolumes(volumes(storage, storage, 8));
    await world.step("1 StatefulSet", () => addedToStatefulSet(world, storage));
    await world.step("2 CloneSet", () => addedToCloneSet(world, storage));
  },
};

async function addedToStatefulSet(world: World, storage: string): Promise<void> {
  const sets = new Sets(world);
  await world.apply(
    statefulSet(world.version, {
      name: "db",
      replicas: 2,
      rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" },
      podSpec: { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
    }),
  );
  await sets.untilRow("db 2 2 2 2");
  const before = await sets.pods("db");
  await sets.patch("db", "merge", { spec: { volumeClaimTemplates: [claimTemplate("data", storage)] } });
  await quiet(world, "StatefulSet", "db");
  assert.deepEqual((await sets.pods("db")).map(uid), before.map(uid));
  // An update in place leaves the volumes of a pod as they are.
  await sets.toImage("db", "nginx:1.21");
  await world.until("updated in place", async () => {
    const pods = await sets.pods("db");
    assert.deepEqual(pods.map(uid), before.map(uid));
    assert.deepEqual(pods.map(imageOf), ["nginx:1.21", "nginx:1.21"]);
  });
  await quiet(world, "StatefulSet", "db");
  for (const { metadata } of before) await world.remove("pods", metadata.name);
  await world.until("made anew with claims", async () => {
    const pods = await sets.pods("db");
    assert.equal(pods.length, 2);
    for (const pod of pods) {
      assert.ok(!before.some((old) => uid(old) === uid(pod)));
      assert.equal(claimOf(pod), `data-${pod.metadata.name}`);
    }
  });
  await sets.untilRow("db 2 2 2 2");
}

async function addedToCloneSet(world: World, storage: string): Promise<void> {
  const containers = [container("nginx", "nginx:1.20")];
  await world.apply(
    cloneSet(world.version, {
      name: "web",
      replicas: 2,
      strategy: { policy: "InPlaceIfPossible" },
      containers,
    }),
  );
  await world.untilAll("web", 2);
  const before = await world.podsOf("web");
  await world.patch("web", "merge", { spec: { volumeClaimTemplates: [claimTemplate("data", storage)] } });
  await quiet(world, "CloneSet", "web");
  assert.deepEqual((await world.podsOf("web")).map(uid), before.map(uid));
  await world.patch("web", "json", imagePatch("nginx:1.21"));
  await world.until("updated in place", async () => {
    const pods = await world.podsOf("web");
    assert.deepEqual(pods.map(uid), before.map(uid));
    assert.deepEqual(pods.map(imageOf), ["nginx:1.21", "nginx:1.21"]);
  });
  await world.scale("web", 3);
  await world.until("a new one has a claim", async () => {
    const [added] = (await world.podsOf("web")).filter((pod) => !before.some((old) => uid(old) === uid(pod)));
    assert.ok(added !== undefined && claimOf(added)?.startsWith("data-web-"));
    assert.equal(await world.row("web"), "web 3 3 3 3 3 3");
  });
  await quiet(world, "CloneSet", "web");
}

function claimOf({ spec }: Item): string | undefined {
  const volumes: unknown = spec?.["volumes"];
  const claims = Array.isArray(volumes)
    ? volumes.map((volume) => volume?.persistentVolumeClaim?.claimName)
    : [];
  return claims.find((name) => name !== undefined);
}

/** Nobody tries without end what the API server refuses: no event says so, and the status says that all is well. */
async function quiet(world: World, kind: string, name: string): Promise<void> {
  const resource = kind === "CloneSet" ? "clonesets" : "statefulsets";
  const warnings = async () =>
    (await world.list("events")).filter(
      (event) => event["type"] === "Warning" && Object(event["involvedObject"]).kind === kind,
    );
  await world.stays(async () => {
    assert.deepEqual(await warnings(), []);
    const { status, metadata } = await world.api.get(
      `${resource}.${world.version}.apps.kruise.io`,
      name,
      world.namespace,
    );
    assert.equal(status?.observedGeneration, metadata["generation"]);
    const failed = (status?.conditions ?? []).filter(({ type }) => type.startsWith("Failed"));
    assert.deepEqual(failed, []);
  });
}
