import assert from "node:assert/strict";
import { gatedObjects, minimalObjects } from "../../testkit/controller/minimal_objects.ts";
import { type Item, isRecord } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { manifestOf } from "./gated_kinds.ts";
import { nameOf } from "./items.ts";
import { cloneSet } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const inApps = [
  "advancedcronjobs",
  "broadcastjobs",
  "clonesets",
  "containerrecreaterequests",
  "daemonsets",
  "ephemeraljobs",
  "imagelistpulljobs",
  "imagepulljobs",
  "nodeimages",
  "nodepodprobes",
  "persistentpodstates",
  "podprobemarkers",
  "resourcedistributions",
  "sidecarsets",
  "statefulsets",
  "uniteddeployments",
  "workloadspreads",
];

/** Per kind: short names, scope, served versions with the stored one last, printed columns without NAME. */
const kinds: Readonly<Record<string, { short: string; cluster?: true; versions: string; columns: string }>> =
  {
    clonesets: {
      short: "clone",
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED UPDATED UPDATED_READY UPDATED_AVAILABLE READY TOTAL AGE",
    },
    statefulsets: {
      short: "sts asts",
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED CURRENT UPDATED READY AGE",
    },
    daemonsets: {
      short: "daemon ads",
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED CURRENT READY UP-TO-DATE AVAILABLE AGE",
    },
    broadcastjobs: {
      short: "bcj",
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED ACTIVE SUCCEEDED FAILED AGE",
    },
    advancedcronjobs: {
      short: "acj",
      versions: "v1alpha1 v1beta1",
      columns: "SCHEDULE TYPE LASTSCHEDULETIME AGE",
    },
    sidecarsets: {
      short: "",
      cluster: true,
      versions: "v1alpha1 v1beta1",
      columns: "MATCHED UPDATED READY AGE",
    },
    uniteddeployments: {
      short: "ud",
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED CURRENT UPDATED READY AGE",
    },
    workloadspreads: {
      short: "ws",
      versions: "v1alpha1 v1beta1",
      columns: "WORKLOADNAME WORKLOADKIND ADAPTIVE AGE",
    },
    podunavailablebudgets: {
      short: "pub",
      versions: "v1alpha1 v1beta1",
      columns: "ALLOWED CURRENT DESIRED TOTAL",
    },
    persistentpodstates: { short: "", versions: "v1alpha1 v1beta1", columns: "AGE" },
    containerrecreaterequests: { short: "crr", versions: "v1alpha1 v1beta1", columns: "PHASE POD NODE AGE" },
    imagepulljobs: { short: "", versions: "v1alpha1 v1beta1", columns: "TOTAL ACTIVE SUCCEED FAILED AGE" },
    imagelistpulljobs: { short: "", versions: "v1alpha1 v1beta1", columns: "TOTAL SUCCEEDED COMPLETED AGE" },
    nodeimages: {
      short: "",
      cluster: true,
      versions: "v1alpha1 v1beta1",
      columns: "DESIRED PULLING SUCCEED FAILED AGE",
    },
    resourcedistributions: {
      short: "distributor",
      cluster: true,
      versions: "v1alpha1 v1beta1",
      columns: "TOTAL SUCCEED FAILED",
    },
    ephemeraljobs: {
      short: "ejob",
      versions: "v1alpha1",
      columns: "STATUS MATCH SUCCEED FAILED RUNNING WAITING AGE",
    },
    podprobemarkers: { short: "", versions: "v1alpha1", columns: "AGE" },
    nodepodprobes: { short: "", cluster: true, versions: "v1alpha1", columns: "AGE" },
  };

export const suite: Suite = {
  number: "01",
  title: "Definitions, short names and columns",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    await world.step("1 the definitions", async () => {
      const names = (await world.api.list("customresourcedefinitions"))
        .map(nameOf)
        .filter((name) => name.endsWith(".kruise.io"));
      const expected = inApps.map((plural) => `${plural}.apps.kruise.io`);
      assert.deepEqual(names.sort(), [...expected, "podunavailablebudgets.policy.kruise.io"].sort());
    });
    await world.step("2 names, scopes, versions, subresources", () => checkDiscovery(world));
    await world.step("3 the definition of DaemonSet", () => checkDefinition(world));
    await world.step("5 columns of every kind", () => checkColumns(world));
    await world.step("4 and 5 an empty CloneSet", () => emptyCloneSet(world));
    await world.step("4, 5 and 7 an empty object of every kind", () => emptyObjects(world));
    await world.step("6 kinds whose gates are off", async () => {
      for (const gated of gatedObjects) {
        const send = () => world.apply(manifestOf(gated, world));
        await world.refuses(403, send, `feature-gate ${gated.gate} is not enabled`);
      }
    });
  },
};

function groupOf(plural: string): string {
  return plural === "podunavailablebudgets" ? "policy.kruise.io" : "apps.kruise.io";
}

async function checkDiscovery(world: World): Promise<void> {
  for (const version of ["v1alpha1", "v1beta1"]) {
    const resources = [
      ...(await resourcesOf(world, `apps.kruise.io/${version}`)),
      ...(await resourcesOf(world, `policy.kruise.io/${version}`)),
    ];
    const served = Object.keys(kinds).filter((plural) => kinds[plural]?.versions.includes(version));
    assert.deepEqual(
      resources
        .map(({ name }) => name)
        .filter((name) => !name.includes("/"))
        .sort(),
      served.sort(),
    );
    for (const plural of served) {
      const found = resources.find(({ name }) => name === plural);
      assert.equal(found?.shortNames.join(" "), kinds[plural]?.short, plural);
      assert.equal(found?.namespaced, kinds[plural]?.cluster === undefined, plural);
      assert.ok(
        resources.some(({ name }) => name === `${plural}/status`),
        `${plural}/status`,
      );
    }
  }
}

async function resourcesOf(
  world: World,
  groupVersion: string,
): Promise<{ name: string; shortNames: string[]; namespaced: boolean }[]> {
  const { body } = await world.api.request("GET", `/apis/${groupVersion}`);
  const resources = isRecord(body) ? body["resources"] : undefined;
  if (!Array.isArray(resources)) throw new Error(`${groupVersion} is not served`);
  return resources.filter(isRecord).map((resource) => ({
    name: String(resource["name"]),
    shortNames: Array.isArray(resource["shortNames"]) ? resource["shortNames"].map(String) : [],
    namespaced: resource["namespaced"] === true,
  }));
}

async function checkDefinition(world: World): Promise<void> {
  for (const [plural, kind] of [
    ["daemonsets", "DaemonSet"],
    ["statefulsets", "StatefulSet"],
  ] as const) {
    const definition: Item = await world.api.get("customresourcedefinitions", `${plural}.apps.kruise.io`);
    const names = definition.spec?.["names"];
    assert.ok(isRecord(names));
    assert.deepEqual(
      [names["kind"], names["listKind"], names["plural"], names["singular"]],
      [kind, `${kind}List`, plural, plural.slice(0, -1)],
    );
    const conversion = definition.spec?.["conversion"];
    assert.ok(isRecord(conversion));
    assert.equal(conversion["strategy"], "Webhook");
    const webhook = conversion["webhook"];
    assert.deepEqual(isRecord(webhook) ? webhook["conversionReviewVersions"] : undefined, ["v1", "v1beta1"]);
  }
}

async function checkColumns(world: World): Promise<void> {
  for (const [plural, { versions, columns }] of Object.entries(kinds)) {
    for (const version of versions.split(" ")) {
      const { header } = await world.printed(`${plural}.${version}.${groupOf(plural)}`);
      const more = plural === "imagepulljobs" && version === "v1alpha1" ? " MESSAGE" : "";
      assert.equal(header.join(" "), `NAME ${columns}${more}`, `${plural} ${version}`);
    }
  }
}

async function emptyCloneSet(world: World): Promise<void> {
  const empty = new CloneSet(world, "empty");
  const labels = { case: "empty-clone" };
  const manifest = cloneSet("v1beta1", { name: "empty", replicas: 0, labels });
  await world.api.create(manifest, world.namespace, "?dryRun=All");
  assert.equal(await empty.find(), undefined);
  await empty.create({ replicas: 0, labels });
  await world.until("its row", async () => {
    assert.match(await empty.row(), /^0 0 0 (0 )?0 0$/);
    const wide = await world.row(empty.resource, "empty", true);
    assert.ok(wide.endsWith(" nginx nginx:1.20 case=empty-clone"), wide);
  });
  await empty.remove();
  await world.until("gone without a pod", async () => {
    assert.equal(await empty.find(), undefined);
    assert.equal((await world.list("pods")).length, 0);
  });
}

async function emptyObjects(world: World): Promise<void> {
  const { api, namespace } = world;
  const id = namespace.split("-").at(-1) ?? "";
  const objects = minimalObjects.map(({ resource, kind, spec, row, isClusterScoped }) => {
    const [, version = "", ...group] = resource.split(".");
    const name = isClusterScoped ? `empty-${id}` : "empty";
    return {
      resource,
      row,
      name,
      manifest: { apiVersion: `${group.join(".")}/${version}`, kind, metadata: { name }, spec },
    };
  });
  for (const { manifest } of objects) await api.create(manifest, namespace, "?dryRun=All");
  for (const { resource, name } of objects)
    assert.equal(
      await api.find(resource, name, namespace),
      undefined,
      `${resource}: a dry run stores nothing`,
    );
  for (const { manifest } of objects) await api.create(manifest, namespace);
  await world.until("their rows", async () => {
    for (const { resource, name, row } of objects) {
      if (row !== undefined)
        assert.match((await world.row(resource, name)).slice(name.length + 1), row, resource);
    }
  });
  const [child, ...others] = await api.list("statefulsets.v1.apps", namespace);
  assert.match(child?.metadata.name ?? "", /^empty-subset-a-/, "the workload of the UnitedDeployment");
  assert.deepEqual(others, []);
  for (const { resource, name } of objects) await api.remove(resource, name, namespace);
  await world.until("gone without a pod", async () => {
    for (const { resource, name } of objects)
      assert.equal(await api.find(resource, name, namespace), undefined, resource);
    assert.equal((await world.list("pods")).length, 0);
  });
}
