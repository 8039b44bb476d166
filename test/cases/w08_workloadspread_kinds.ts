import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { Handle } from "./handle.ts";
import { imageOf, nameOf, records } from "./items.ts";
import { configure } from "./kruise_configuration.ts";
import { imagePatch, nativeWorkload, podOf, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const MATCHED = "apps.kruise.io/matched-workloadspread";
const COST = "controller.kubernetes.io/pod-deletion-cost";
const systemNamespace = "kruise-system";
const whitelist = "WorkloadSpread_Watch_Custom_Workload_WhiteList";

/** A workload whose pods carry `case: <name>`, and its spread of the same name. */
class Spread extends Handle {
  constructor(world: World, name: string) {
    super(world, "WorkloadSpread", name);
  }

  /** Subsets `a`, `b`, … with these caps. */
  async create(apiVersion: string, kind: string, caps: readonly (number | undefined)[]): Promise<void> {
    const subsets = caps.map((maxReplicas, index) => {
      const name = String.fromCharCode(97 + index);
      const patch = { metadata: { labels: { pool: name } } };
      return { name, patch, ...(maxReplicas === undefined ? {} : { maxReplicas }) };
    });
    await this.apply({ targetRef: { apiVersion, kind, name: this.name }, subsets });
    await this.untilObserved();
  }

  async pods(): Promise<Item[]> {
    const pods = await this.world.list("pods", `case=${this.name}`);
    return pods.filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Succeeded",
    );
  }

  /** Subsets of the pods as their annotations say; their labels are of the patch. */
  async placed(): Promise<string[]> {
    return (await this.pods()).map(({ metadata }) => {
      const match: unknown = JSON.parse(metadata.annotations?.[MATCHED] ?? "{}");
      const subset = isRecord(match) && match["name"] === this.name ? String(match["subset"]) : "";
      assert.equal(metadata.labels?.["pool"] ?? "", subset);
      return subset;
    });
  }

  /** Pods in subsets `a`, `b`, …, and what the status says of them. */
  async until(counts: readonly number[], missing: readonly number[]): Promise<void> {
    const wanted = counts.flatMap((count, index) => Array(count).fill(String.fromCharCode(97 + index)));
    await this.world.until(`${this.name}: ${counts} pods`, async () => {
      assert.deepEqual((await this.placed()).sort(), wanted);
      const seen = records((await this.status())["subsetStatuses"]);
      assert.deepEqual(
        seen.map((row) => row["replicas"]),
        counts,
      );
      assert.deepEqual(
        seen.map((row) => row["missingReplicas"]),
        missing,
      );
    });
  }

  async costs(): Promise<(string | undefined)[]> {
    return (await this.pods()).map(({ metadata }) => metadata.annotations?.[COST]).sort();
  }
}

async function deployments(world: World): Promise<void> {
  const spread = new Spread(world, "deployed");
  const { name } = spread;
  await world.step("1 a Deployment: the first subset first, and last when it shrinks", async () => {
    await spread.create("apps/v1", "Deployment", [2, undefined]);
    await world.apply(nativeWorkload("apps/v1", "Deployment", name, { more: { replicas: 6 } }));
    await spread.until([2, 4], [0, -1]);
    await world.until("costs", async () =>
      assert.deepEqual(await spread.costs(), ["100", "100", "100", "100", "200", "200"]),
    );
    await world.patch("deployments.v1.apps", name, "merge", { spec: { replicas: 2 } });
    await spread.until([2, 0], [0, -1]);
  });
  await world.step("2 what is evicted or deleted is replaced in its place", async () => {
    await world.patch("deployments.v1.apps", name, "merge", { spec: { replicas: 3 } });
    await spread.until([2, 1], [0, -1]);
    const first = (await spread.pods()).filter(({ metadata }) => metadata.labels?.["pool"] === "a");
    const [evicted = "", deleted = ""] = first.map(nameOf);
    const { namespace } = world;
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: evicted, namespace } };
    const { status } = await world.api.request(
      "POST",
      `/api/v1/namespaces/${namespace}/pods/${evicted}/eviction`,
      body,
    );
    assert.equal(status, 201);
    await world.until("it is gone", async () =>
      assert.ok((await spread.pods()).every(({ metadata }) => metadata.name !== evicted)),
    );
    await world.remove("pods", deleted);
    await world.until("both are gone", async () =>
      assert.ok((await spread.pods()).every(({ metadata }) => metadata.name !== deleted)),
    );
    await spread.until([2, 1], [0, -1]);
  });
  await world.step("3 a rollout of it ends as it began", async () => {
    await world.patch("deployments.v1.apps", name, "json", imagePatch("nginx:1.21"));
    await world.until("the image", async () => {
      const images = (await spread.pods()).map(imageOf);
      assert.deepEqual(images, Array(3).fill("nginx:1.21"));
    });
    await spread.until([2, 1], [0, -1]);
  });
}

async function others(world: World): Promise<void> {
  await world.step("4 a ReplicaSet", async () => {
    const spread = new Spread(world, "bare");
    await spread.create("apps/v1", "ReplicaSet", [1, 1, undefined]);
    await world.apply(nativeWorkload("apps/v1", "ReplicaSet", "bare", { more: { replicas: 4 } }));
    await spread.until([1, 1, 2], [0, 0, -1]);
  });
  await world.step("5 a Job: what has ended makes room", async () => {
    const spread = new Spread(world, "job");
    await spread.create("batch/v1", "Job", [2, undefined]);
    await world.apply(
      nativeWorkload("batch/v1", "Job", "job", {
        containers: [sleeper("work", "busybox:1.34")],
        podSpec: { restartPolicy: "Never" },
        more: { parallelism: 3, completions: 6, backoffLimit: 9 },
      }),
    );
    await spread.until([2, 1], [0, -1]);
    const [first] = (await spread.pods()).filter(({ metadata }) => metadata.labels?.["pool"] === "a");
    await world.remove("pods", first?.metadata.name ?? "");
    await spread.until([2, 1], [0, -1]);
  });
  for (const apiVersion of ["apps/v1", "apps.kruise.io/v1beta1"]) {
    const name = apiVersion === "apps/v1" ? "ordered" : "advanced";
    await world.step(`6 a StatefulSet of ${apiVersion}: by ordinal, without costs`, async () => {
      const spread = new Spread(world, name);
      await spread.create(apiVersion, "StatefulSet", [2, 2, undefined]);
      const more = { replicas: 5, serviceName: name, podManagementPolicy: "Parallel" };
      await world.apply(nativeWorkload(apiVersion, "StatefulSet", name, { more }));
      await spread.until([2, 2, 1], [0, 0, -1]);
      for (const { metadata } of await spread.pods()) {
        const ordinal = Number(metadata.name.split("-").at(-1));
        assert.equal(metadata.labels?.["pool"], ["a", "a", "b", "b", "c"][ordinal]);
        assert.equal(metadata.annotations?.[COST], undefined);
      }
    });
  }
}

/** Of a kind that nobody here knows, by the list of such kinds. */
async function custom(world: World): Promise<void> {
  const id = world.namespace.split("-").at(-1) ?? "";
  const [group, plural] = [`case-${id}.example`, "pools"];
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: "pool", kind: "Pool", listKind: "PoolList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  const role = `${world.namespace}-pools`;
  /** Whoever lists a kind lets the controller read it, too. */
  const readers = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: role },
    rules: [{ apiGroups: [group], resources: [plural], verbs: ["get", "list", "watch"] }],
  };
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: role },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: "kruise-manager", namespace: systemNamespace }],
  };
  const { api } = world;
  try {
    await world.step("7 a kind of others, once it is listed", async () => {
      const spread = new Spread(world, "pool");
      await assert.rejects(spread.create(`${group}/v1`, "Pool", [2, 5]), /GroupKind is not permitted/);
      await api.create(definition);
      await api.create(readers);
      await api.create(binding);
      await configure(world, {
        [whitelist]: JSON.stringify({ workloads: [{ Group: group, Version: "v1", Kind: "Pool" }] }),
      });
      // What was read before is good for ten seconds.
      await world.once("it is allowed", () => spread.create(`${group}/v1`, "Pool", [2, 5]));
      let owner: Item | undefined;
      const pool = { apiVersion: `${group}/v1`, kind: "Pool", metadata: { name: "pool" }, spec: {} };
      await world.until("the kind is served", async () => {
        owner =
          (await api.find(`${plural}.v1.${group}`, "pool", world.namespace)) ??
          (await api.create(pool, world.namespace));
      });
      const { uid = "" } = owner?.metadata ?? {};
      const reference = { apiVersion: `${group}/v1`, kind: "Pool", name: "pool", uid, controller: true };
      for (const name of ["one", "two", "three"]) {
        const manifest = Object(podOf(`pool-${name}`, { labels: { case: "pool" } }));
        const metadata = { ...manifest.metadata, ownerReferences: [reference] };
        await world.apply({ ...manifest, metadata });
      }
      await spread.until([2, 1], [0, 4]);
    });
  } finally {
    await configure(world, { [whitelist]: null });
    await api.remove("customresourcedefinitions", `${plural}.${group}`).catch(() => undefined);
    await api.remove("clusterrolebindings", role).catch(() => undefined);
    await api.remove("clusterroles", role).catch(() => undefined);
  }
}

/** Spec workloadspread, scenarios 2, 8, 9 and 19; rules 12, 13. */
export const suite: Suite = {
  number: "w08",
  title: "WorkloadSpread: every kind of workload",
  needs: [],
  // The list of further kinds is one for the cluster.
  versions: ["v1beta1"],
  async run(world) {
    await deployments(world);
    await others(world);
    await custom(world);
  },
};
