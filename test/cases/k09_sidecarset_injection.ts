import assert from "node:assert/strict";
import { records } from "./items.ts";
import { container, podOf, sleeper } from "./manifests.ts";
import { containerOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Scenarios of the reference, by their numbers there. */
export const suite: Suite = {
  number: "k09",
  title: "SidecarSet: what new pods get of their app, versions by name, canary sets",
  needs: [],
  async run(world) {
    const step = (name: string, work: (world: World) => Promise<void>) => world.step(name, () => work(world));
    await step("5 mounts of the app, with the environment that their paths need", shared);
    await step("6 environment of an app that is named, also by a label or an annotation", transferred);
    await step("19 resources in proportion to those of the app", resources);
    await step("15 new pods get the version that is named, until the update goes on", versions);
    await step("16 of a partial version only new pods of the canary get the latest", partial);
    await step("17 a canary set takes the place of its base", canary);
  },
};

const envOf = (given: Record<string, string>) =>
  Object.entries(given).map(([name, value]) => ({ name, value }));

/** A set for pods with the label `case: <name>`, with one sidecar. */
async function withSidecar(
  world: World,
  name: string,
  sidecar: object,
  work: (set: Sidecars) => Promise<void>,
): Promise<void> {
  const set = new Sidecars(world, name);
  const spec = {
    selector: { matchLabels: { case: name } },
    containers: [sleeper("side", "busybox:1.32", sidecar)],
    volumes: [{ name: "side-volume", emptyDir: {} }],
  };
  await set.during(spec, () => work(set));
}

async function shared(world: World): Promise<void> {
  const app = container("app", "nginx:1.20", {
    env: envOf({ POD_NAME: "bar", OD_NAME: "od", OTHER: "x" }),
    volumeMounts: [
      { name: "app-volume", mountPath: "/main-volume", subPathExpr: "foo/$(POD_NAME)/$(OD_NAME)/conf" },
      { name: "app-volume", mountPath: "/taken" },
    ],
  });
  const sidecar = {
    shareVolumePolicy: { type: "enabled" },
    volumeMounts: [{ name: "side-volume", mountPath: "/taken" }],
  };
  await withSidecar(world, "shared", sidecar, async (set) => {
    const volumes = [{ name: "app-volume", emptyDir: {} }];
    const pod = await set.admitted({ case: "shared" }, { containers: [app], spec: { volumes } });
    const side = { volumeMounts: undefined, ...containerOf(pod, "side") };
    const mounts = records(side.volumeMounts).map((mount) =>
      [mount["mountPath"], mount["name"], mount["subPathExpr"] ?? "-"].join(" "),
    );
    // A token of the service account may be the last one.
    assert.deepEqual(mounts.slice(0, 2), [
      "/taken side-volume -",
      "/main-volume app-volume foo/$(POD_NAME)/$(OD_NAME)/conf",
    ]);
    assert.deepEqual(side.env, envOf({ IS_INJECTED: "true", POD_NAME: "bar", OD_NAME: "od" }));
    const names = records(pod.spec?.["volumes"]).map((volume) => volume["name"]);
    for (const name of ["app-volume", "side-volume"]) assert.ok(names.includes(name), name);
  });
}

async function transferred(world: World): Promise<void> {
  const env = envOf({ POD_NAME: "bar", OD_NAME: "app_name", PROXY_IP: "127.0.0.1", OTHER: "x" });
  const containers = [container("app", "nginx:1.20", { env }), container("other", "nginx:1.20")];
  const envNames = ["POD_NAME", "OD_NAME", "PROXY_IP", "ABSENT"];
  const from = (fieldPath: string) => ({ sourceContainerNameFrom: { fieldRef: { fieldPath } } });
  const sources: Record<string, object> = {
    named: { sourceContainerName: "app" },
    labelled: from("metadata.labels['biz']"),
    annotated: from("metadata.annotations['biz']"),
  };
  for (const [name, source] of Object.entries(sources)) {
    const sidecar = { env: envOf({ OD_NAME: "sidecar_name" }), transferEnv: [{ ...source, envNames }] };
    await withSidecar(world, name, sidecar, async (set) => {
      const labels = { case: name, ...(name === "labelled" ? { biz: "app" } : {}) };
      const annotations: Record<string, string> = name === "annotated" ? { biz: "app" } : {};
      const pod = await set.admitted(labels, { containers, annotations });
      const given = containerOf(pod, "side").env?.map((one) => `${one.name}=${one.value}`);
      const expected = ["IS_INJECTED=true", "OD_NAME=sidecar_name", "POD_NAME=bar", "PROXY_IP=127.0.0.1"];
      assert.deepEqual(given?.sort(), expected, name);
    });
  }
}

async function resources(world: World): Promise<void> {
  const resourcesExpr = {
    limits: { cpu: "cpu*50% + 100m", memory: "max(memory*20% + 100Mi, 200Mi)" },
  };
  const sidecar = { resourcesPolicy: { targetContainersMode: "sum", resourcesExpr } };
  await withSidecar(world, "resources", sidecar, async (set) => {
    const limitsOf = async (second: object) => {
      const first = { cpu: "200m", memory: "400Mi" };
      const containers = [
        container("app", "nginx:1.20", { resources: { limits: first } }),
        container("other", "nginx:1.20", { resources: { limits: second } }),
      ];
      return containerOf(await set.admitted({ case: "resources" }, { containers }), "side").resources?.limits;
    };
    assert.deepEqual(await limitsOf({ cpu: "400m", memory: "600Mi" }), { cpu: "400m", memory: "300Mi" });
    assert.deepEqual(await limitsOf({ memory: "600Mi" }), { memory: "300Mi" });
  });
}

const imagesOfVersions = { v0: "busybox:1.32", v1: "busybox:1.33", v2: "busybox:1.34", v3: "busybox:1.35" };

/** All versions of the set by their names, the first one first; resolves to the revision of each. */
async function releaseAll(set: Sidecars): Promise<Map<string, string>> {
  const revisions = new Map<string, string>();
  for (const [version, image] of Object.entries(imagesOfVersions)) {
    await set.toNamedVersion(version, image);
    revisions.set(version, await set.untilVersion(version));
  }
  return revisions;
}

async function untilAdmittedWith(
  set: Sidecars,
  labels: Record<string, string>,
  image: string,
): Promise<void> {
  await set.world.until(`new pods get ${image}`, async () => {
    assert.equal(containerOf(await set.admitted(labels), "side").image, image);
  });
}

async function versions(world: World): Promise<void> {
  await withSidecar(world, "versions", {}, async (set) => {
    const labels = { case: "versions" };
    await set.strategy({ paused: true });
    const revisions = await releaseAll(set);
    assert.equal(new Set(revisions.values()).size, revisions.size);
    await set.patch("merge", { spec: { injectionStrategy: { revision: { customVersion: "v1" } } } });
    await untilAdmittedWith(set, labels, imagesOfVersions.v1);
    await world.apply(podOf("versions", { labels }));
    await set.untilRow("1 0 1");
    const late = () => world.pod("versions");
    assert.equal(containerOf(await late(), "side").image, imagesOfVersions.v1);
    assert.equal(set.entryOf(await late())["controllerRevision"], revisions.get("v1"));
    await set.strategy({ paused: false });
    await set.untilRow("1 1 1");
    assert.equal(containerOf(await late(), "side").image, imagesOfVersions.v3);
    assert.equal(set.entryOf(await late())["controllerRevision"], revisions.get("v3"));
  });
}

async function partial(world: World): Promise<void> {
  await withSidecar(world, "partial", {}, async (set) => {
    await releaseAll(set);
    await set.strategy({ selector: { matchLabels: { version: "canary" } } });
    const revision = { customVersion: "v1", policy: "Partial" };
    await set.patch("merge", { spec: { injectionStrategy: { revision } } });
    await untilAdmittedWith(set, { case: "partial", version: "stable" }, imagesOfVersions.v1);
    await untilAdmittedWith(set, { case: "partial", version: "canary" }, imagesOfVersions.v3);
  });
}

async function canary(world: World): Promise<void> {
  const labels = { case: "base" };
  await withSidecar(world, "base", {}, async (base) => {
    const over = new Sidecars(world, "over");
    const spec = {
      selector: { matchLabels: labels },
      updateStrategy: { type: "NotUpdate" },
      containers: [sleeper("side", "busybox:1.33")],
    };
    const annotations = {
      "apps.kruise.io/sidecarset-canary": "true",
      "apps.kruise.io/sidecarset-base": base.name,
    };
    const work = async () => {
      for (const name of ["first", "second"]) await world.apply(podOf(name, { labels }));
      await over.untilRow("2 2 2");
      await base.untilRow("0 0 0");
      for (const pod of await world.list("pods", "case=base")) {
        assert.equal(containerOf(pod, "side").image, "busybox:1.33");
        assert.deepEqual(base.entryOf(pod), {});
      }
    };
    await over.during(spec, work, { annotations });
  });
}
