import assert from "node:assert/strict";
import { claimTemplate, container, volumes } from "./manifests.ts";
import { Sets } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "19",
  title: "Advanced StatefulSet: moving in from the built-in kind",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
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
      await sets.untilRow("web 2 2 2 2");
      const moments = await trail.stop();
      const second = moments.findIndex(({ object }) => object.metadata.name === "web-1");
      const ready = moments.findIndex(
        ({ object }) =>
          object.metadata.name === "web-0" &&
          object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
      );
      assert.ok(ready >= 0 && ready < second, "web-1 was created before web-0 was Ready");
    });
    await world.step("2 names, claims and defaults", () => identityAndDefaults(world, sets));
    await returnAndScale(world, sets, storage);
    await takeOver(world, sets, storage);
    await world.step("7 the older version", async () => {
      const alpha = await world.api.get("statefulsets.v1alpha1.apps.kruise.io", "web", world.namespace);
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

async function identityAndDefaults(world: World, sets: Sets): Promise<void> {
  const { header } = await world.printed(sets.resource);
  assert.deepEqual(header, ["NAME", "DESIRED", "CURRENT", "UPDATED", "READY", "AGE"]);
  assert.deepEqual(await world.list("statefulsets.v1.apps"), []);
  const claims = await world.list("persistentvolumeclaims");
  assert.deepEqual(claims.map(({ metadata, status }) => [metadata.name, status?.phase]).sort(), [
    ["www-web-0", "Bound"],
    ["www-web-1", "Bound"],
  ]);
  const { spec } = await sets.get("web");
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
  for (const [index, pod] of (await sets.pods("web")).entries()) {
    assert.deepEqual(pod.spec?.readinessGates, [{ conditionType: "KruisePodReady" }]);
    assert.equal(pod.metadata.labels?.["statefulset.kubernetes.io/pod-name"], `web-${index}`);
    assert.equal(pod.metadata.labels?.["apps.kubernetes.io/pod-index"], String(index));
    assert.equal(pod.spec?.["hostname"], `web-${index}`);
    assert.equal(pod.spec?.["subdomain"], "nginx");
  }
}

async function returnAndScale(world: World, sets: Sets, storage: string): Promise<void> {
  const claimOf = async (name: string) =>
    (await world.api.get("pods", name, world.namespace)).spec?.["volumes"];
  await world.step("4 a deleted pod returns with its claim", async () => {
    const before = await sets.uids("web");
    const volumesBefore = await claimOf("web-0");
    await world.remove("pods", "web-0");
    await world.until("web-0 is back", async () => {
      const after = await sets.uids("web");
      assert.ok(after.has("web-0") && after.get("web-0") !== before.get("web-0"));
      assert.equal(after.get("web-1"), before.get("web-1"));
      assert.equal(await sets.row("web"), "web 2 2 2 2");
    });
    assert.deepEqual(claimNames(await claimOf("web-0")), claimNames(volumesBefore));
  });
  await world.step("5 claims outlive pods and set", async () => {
    const before = new Map((await world.list("persistentvolumeclaims")).map(uidByName));
    await sets.scale("web", 1);
    await sets.untilRow("web 1 1 1 1");
    await sets.scale("web", 2);
    await sets.untilRow("web 2 2 2 2");
    await world.remove(sets.resource, "web");
    await world.until("set and pods are gone", async () => assert.deepEqual(await world.list("pods"), []));
    const claims = await world.list("persistentvolumeclaims");
    assert.deepEqual(new Map(claims.map(uidByName)), before);
    for (const claim of claims) await world.remove("persistentvolumeclaims", claim.metadata.name);
    await world.until("the claims are gone", async () =>
      assert.deepEqual(await world.list("persistentvolumeclaims"), []),
    );
    for (const number of [1, 2]) await world.api.remove("persistentvolumes", `${storage}-${number}`);
    await world.applyVolumes(volumes(`${storage}-again`, storage, 2));
  });
}

const uidByName = ({ metadata }: { metadata: { name: string; uid: string } }) =>
  [metadata.name, metadata.uid] as const;

function claimNames(list: unknown): unknown {
  return JSON.stringify(list).match(/"claimName":"[^"]*"/g);
}

async function takeOver(world: World, sets: Sets, storage: string): Promise<void> {
  await world.step("6 running pods are taken over", async () => {
    await world.apply(manifest("apps/v1", storage));
    await world.until("the built-in set is ready", async () => {
      const native = await world.api.get("statefulsets.v1.apps", "web", world.namespace);
      assert.equal(native.status?.readyReplicas, 2);
    });
    const before = await world.list("pods");
    const claims = (await world.list("persistentvolumeclaims")).map(uidByName);
    await world.remove("statefulsets.v1.apps", "web", { propagationPolicy: "Orphan" });
    await world.until("the built-in set is gone", async () => {
      assert.deepEqual(await world.list("statefulsets.v1.apps"), []);
      for (const pod of await world.list("pods")) assert.equal(pod.metadata.ownerReferences, undefined);
    });
    await world.apply(manifest("apps.kruise.io/v1beta1", storage));
    await sets.untilRow("web 2 2 2 2");
    const after = await sets.pods("web");
    for (const [index, pod] of after.entries()) {
      const old = before.find(({ metadata }) => metadata.name === pod.metadata.name);
      assert.equal(pod.metadata.uid, old?.metadata.uid, `web-${index}`);
      assert.equal(pod.spec?.nodeName, old?.spec?.nodeName);
      assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
    }
    assert.deepEqual((await world.list("persistentvolumeclaims")).map(uidByName), claims);
    const { metadata } = await sets.get("web");
    const events = await world.list("events");
    const deletions = events.filter(
      (event) =>
        event["reason"] === "SuccessfulDelete" &&
        JSON.stringify(event["involvedObject"]).includes(metadata.uid),
    );
    assert.deepEqual(deletions, []);
    const revisions = await world.list("controllerrevisions");
    assert.equal(revisions.length, 1, "the built-in set's revision is used on");
  });
}
