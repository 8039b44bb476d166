import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { byName, nameOf, nodeOf, reportsReady, restartsOf, uidOf } from "./items.ts";
import { claimTemplate, container, volumes } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "19",
  title: "Advanced StatefulSet: moving in from the built-in kind",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const web = new StatefulSet(world, "web");
    const storage = `native-${world.namespace}`;
    await world.step("1 one after the other", async () => {
      await world.applyVolumes(volumes(storage, storage, 2));
      await world.apply({
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "nginx", labels: { app: "nginx" } },
        spec: { clusterIP: "None", selector: { app: "nginx" }, ports: [{ name: "http", port: 80 }] },
      });
      const trail = await world.trail("pods", "app=nginx");
      await world.apply(manifest("apps.kruise.io/v1beta1", storage));
      await web.untilAll(2);
      const moments = await trail.stop();
      const second = moments.findIndex(({ object }) => object.metadata.name === "web-1");
      const ready = moments.findIndex(({ object }) => nameOf(object) === "web-0" && reportsReady(object));
      assert.ok(ready >= 0 && ready < second, "web-1 was created before web-0 was Ready");
    });
    await world.step("2 names, claims and defaults", () => identityAndDefaults(web));
    await returnAndScale(web, storage);
    await takeOver(web, storage);
    await world.step("7 the older version", async () => {
      const alpha = await web.get("v1alpha1");
      assert.equal(alpha.status?.readyReplicas, 2);
      assert.equal(alpha.spec?.["serviceName"], "nginx");
      for (const field of ["reserveOrdinals", "lifecycle", "scaleStrategy", "volumeClaimUpdateStrategy"]) {
        assert.equal(alpha.spec?.[field], undefined, field);
      }
    });
  },
};

function manifest(apiVersion: string, storage: string): object {
  return {
    apiVersion,
    kind: "StatefulSet",
    metadata: { name: "web" },
    spec: {
      serviceName: "nginx",
      replicas: 2,
      selector: { matchLabels: { app: "nginx" } },
      template: {
        metadata: { labels: { app: "nginx" } },
        spec: {
          containers: [
            container("nginx", "nginx:1.20", {
              ports: [{ name: "web", containerPort: 80, protocol: "TCP" }],
              volumeMounts: [{ name: "www", mountPath: "/usr/share/nginx/html" }],
            }),
          ],
        },
      },
      volumeClaimTemplates: [claimTemplate("www", storage)],
    },
  };
}

async function identityAndDefaults(web: StatefulSet): Promise<void> {
  const { world } = web;
  assert.equal(await web.columns(), "NAME DESIRED CURRENT UPDATED READY AGE");
  assert.deepEqual(await world.list("statefulsets.v1.apps"), []);
  const claims = await world.claims();
  assert.deepEqual(claims.map(({ metadata, status }) => [metadata.name, status?.phase]).sort(), [
    ["www-web-0", "Bound"],
    ["www-web-1", "Bound"],
  ]);
  const { spec } = await web.get();
  assert.equal(spec?.["podManagementPolicy"], "OrderedReady");
  assert.equal(spec?.["revisionHistoryLimit"], 10);
  assert.deepEqual(spec?.updateStrategy, {
    type: "RollingUpdate",
    rollingUpdate: { partition: 0, maxUnavailable: 1, minReadySeconds: 0, podUpdatePolicy: "ReCreate" },
  });
  assert.deepEqual(spec?.["persistentVolumeClaimRetentionPolicy"], {
    whenDeleted: "Retain",
    whenScaled: "Retain",
  });
  for (const [index, pod] of (await web.pods()).entries()) {
    assert.deepEqual(pod.spec?.readinessGates, [{ conditionType: "KruisePodReady" }]);
    assert.equal(pod.metadata.labels?.["statefulset.kubernetes.io/pod-name"], `web-${index}`);
    assert.equal(pod.metadata.labels?.["apps.kubernetes.io/pod-index"], String(index));
    assert.equal(pod.spec?.["hostname"], `web-${index}`);
    assert.equal(pod.spec?.["subdomain"], "nginx");
  }
}

async function returnAndScale(web: StatefulSet, storage: string): Promise<void> {
  const { world } = web;
  const claimsOf = async (name: string) =>
    JSON.stringify((await world.pod(name)).spec?.["volumes"]).match(/"claimName":"[^"]*"/g);
  await world.step("4 a deleted pod returns with its claim", async () => {
    const before = await web.uids();
    const claims = await claimsOf("web-0");
    await world.remove("pods", "web-0");
    await world.until("web-0 is back", async () => {
      const after = await web.uids();
      assert.ok(after.has("web-0") && after.get("web-0") !== before.get("web-0"));
      assert.equal(after.get("web-1"), before.get("web-1"));
      assert.equal(await web.row(), "2 2 2 2");
    });
    assert.deepEqual(await claimsOf("web-0"), claims);
  });
  await world.step("5 claims outlive pods and set", async () => {
    const before = new Map((await world.claims()).map(uidByName));
    await web.scale(1);
    await web.untilAll(1);
    await web.scale(2);
    await web.untilAll(2);
    await web.remove();
    await world.until("set and pods are gone", async () => assert.deepEqual(await world.list("pods"), []));
    const claims = await world.claims();
    assert.deepEqual(new Map(claims.map(uidByName)), before);
    for (const claim of claims) await world.remove("persistentvolumeclaims", claim.metadata.name);
    await world.until("the claims are gone", async () => assert.deepEqual(await world.claims(), []));
    for (const number of [1, 2]) await world.api.remove("persistentvolumes", `${storage}-${number}`);
    await world.applyVolumes(volumes(`${storage}-again`, storage, 2));
  });
}

const uidByName = ({ metadata }: { metadata: { name: string; uid: string } }) =>
  [metadata.name, metadata.uid] as const;

async function takeOver(web: StatefulSet, storage: string): Promise<void> {
  const { world } = web;
  const natives = "statefulsets.v1.apps";
  await world.step("6 running pods are taken over", async () => {
    await world.apply(manifest("apps/v1", storage));
    await world.until("the built-in set is ready", async () => {
      assert.equal((await world.object(natives, "web")).status?.readyReplicas, 2);
    });
    const before = await world.list("pods");
    const claims = (await world.claims()).map(uidByName);
    await world.remove(natives, "web", { propagationPolicy: "Orphan" });
    await world.until("the built-in set is gone", async () => {
      assert.deepEqual(await world.list(natives), []);
      for (const pod of await world.list("pods")) assert.equal(pod.metadata.ownerReferences, undefined);
    });
    await world.apply(manifest("apps.kruise.io/v1beta1", storage));
    await web.untilAll(2);
    const place = (pod: Item) => [nameOf(pod), uidOf(pod), nodeOf(pod)];
    const after = await web.pods();
    assert.deepEqual(after.map(place), before.sort(byName).map(place));
    assert.deepEqual(after.map(restartsOf), [0, 0]);
    assert.deepEqual((await world.claims()).map(uidByName), claims);
    const { metadata } = await web.get();
    const events = await world.list("events");
    const deletions = events.filter(
      (event) =>
        event["reason"] === "SuccessfulDelete" &&
        JSON.stringify(event["involvedObject"]).includes(metadata.uid),
    );
    assert.deepEqual(deletions, []);
    assert.equal((await world.revisions()).length, 1, "the built-in set's revision is used on");
  });
}
