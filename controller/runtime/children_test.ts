import t from "tap";
import type { ImagePullJob } from "../../crds/index.ts";
import { type Client, KubeError, nullMetrics, podResource } from "../../kube/index.ts";
import { kindDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { barePod } from "../../testkit/controller/pod_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import type { WriteEffect } from "../plan/effects.ts";
import { ownerKey, ownersOf } from "../plan/owners.ts";
import { imageListPullJobResource, imagePullJobResource } from "../plan/resources.ts";
import { ownerReference } from "../rollout/pods/pod_manifest.ts";
import { Children } from "./children.ts";
import { Executor } from "./executor/executor.ts";
import { SharedInformers } from "./informers.ts";

const owner = { key: "d/images", uid: "list", about: undefined, flow: "list" };
const target = { resource: "jobs", namespace: "d", name: "one" };
const creation: WriteEffect = { ...target, type: "create", body: {}, existing: "own" };
const deletion: WriteEffect = { ...target, type: "delete", uid: "child", cascade: true };
const reference = ownerReference("ImageListPullJob", "images", "list");

const job = (uid: string, ownerReferences = [reference], resourceVersion = "1"): ImagePullJob => ({
  metadata: { name: "one", namespace: "d", uid, resourceVersion, ownerReferences },
  spec: { image: "nginx:1", completionPolicy: {} },
});

/** Children before a server that refuses writes and has `stored` under their name. */
function scene(refusal: KubeError, stored = job("child"), refusalToDelete = refusal) {
  const client: Client = {
    ...fakeServer().client,
    create: () => Promise.reject(refusal),
    get: async (resource) => resource.codec.decode(Buffer.from(JSON.stringify(stored)), "application/json"),
    delete: () => Promise.reject(refusalToDelete),
  };
  const deps = kindDeps(imageListPullJobResource, client, testClock());
  const children = new Children(deps, "ImageListPullJob", imagePullJobResource, ownersOf);
  const executor = new Executor(deps, { writes: { jobs: children.writable() } });
  return {
    write: (effect: WriteEffect) => executor.execute(owner, effect, new Map()),
    queue: deps.queue,
    of: () => Array.from(children.of(ownerKey("d", owner.uid)), ownersOf),
  };
}

const taken = new KubeError("AlreadyExists", "it is there", { status: 409 });

t.test(
  "a creation whose answer was lost, or that was made before, is found and enqueues its owner",
  async (t) => {
    for (const refusal of [taken, new KubeError("Timeout", "no answer", { ambiguous: true })]) {
      const { write, of, queue } = scene(refusal);
      t.same(of(), []);
      await write(creation);
      t.same(of(), [[reference]]);
      t.equal(await queue.next(), "d/images");
      queue.stop();
    }
  },
);

t.test("what somebody else has under the name is no child", async (t) => {
  const others = [
    ownerReference("ImageListPullJob", "images", "former"),
    { ...reference, kind: "AdvancedCronJob" },
    { ...reference, apiVersion: "example.com/v1" },
    { ...reference, controller: false },
  ];
  for (const other of others) {
    const { write, of } = scene(taken, job("child", [other]));
    await t.rejects(write(creation), taken);
    t.same(of(), []);
  }
  const { write } = scene(new KubeError("Forbidden", "quota", { status: 403 }));
  await t.rejects(write(creation), { code: "Forbidden" });
});

t.test("pods are found by the controller that they name, among pods of any other", async (t) => {
  const { client } = fakeServer();
  const deps = kindDeps(imageListPullJobResource, client, testClock());
  const informers = new SharedInformers({ ...deps, client, metrics: nullMetrics, namespace: "" });
  const { queue } = deps;
  const children = new Children(
    { informers, queue },
    "ImageListPullJob",
    podResource,
    ({ controller }) => controller,
  );
  const controller = { group: "apps.kruise.io", kind: "ImageListPullJob", name: "images", uid: "list" };
  const others = [
    undefined,
    { ...controller, uid: "former" },
    { ...controller, group: "example.com" },
    { ...controller, group: "apps", kind: "ReplicaSet" },
  ];
  const pods = [controller, ...others].map((each, index) =>
    barePod(`pod-${index}`, { namespace: "d", controller: each }),
  );
  for (const each of pods) informers.cacheOf(podResource).upsert(each);
  t.same(Array.from(children.of(ownerKey("d", "list"))), pods.slice(0, 1));
  t.equal(await queue.next(), "d/images");
  queue.stop();
});

t.test("one that is gone counts as deleted; one that is refused with a conflict may be there", async (t) => {
  for (const code of ["NotFound", "Conflict", "Forbidden"] as const) {
    const { write, of } = scene(taken, job("child"), new KubeError(code, code));
    await write(creation);
    const deleted = write(deletion);
    if (code === "NotFound") await deleted;
    else await t.rejects(deleted, { code });
    t.equal(of().length, code === "NotFound" ? 0 : 1, code);
  }
});
