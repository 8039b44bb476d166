import t from "tap";
import type { WorkloadSpread } from "../../../crds/index.ts";
import { type Client, KubeError } from "../../../kube/index.ts";
import { spreadOf } from "../../../testkit/controller/workload_spread_builder.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { controllerIn } from "../../native/owners.ts";
import { parseWhitelist } from "./whitelist.ts";
import { findWorkload, ownerOf, sumAt, UNKNOWN_SIZE } from "./workload_lookup.ts";

/** A server that answers for these paths, and what it was asked for. */
function server(objects: Readonly<Record<string, object>>): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const request = (path: string): unknown => {
    asked.push(path);
    if (objects[path] !== undefined) return objects[path];
    throw new KubeError("NotFound", `${path} is not there`, { status: 404 });
  };
  return { client: fakeServer({ request }).client, asked };
}

const target = (apiVersion: string, kind: string, more: Partial<WorkloadSpread["spec"]> = {}) =>
  spreadOf([1], { targetRef: { apiVersion, kind, name: "web" }, ...more });

const listed = (text: object) => parseWhitelist(JSON.stringify({ workloads: [text] }));

t.test("the size of each kind of workload is where that kind has it", async (t) => {
  const metadata = { uid: "u" };
  const sized = [
    ["apps/v1", "Deployment", "/apis/apps/v1/namespaces/default/deployments/web", "replicas"],
    ["apps/v1", "ReplicaSet", "/apis/apps/v1/namespaces/default/replicasets/web", "replicas"],
    ["apps/v1", "StatefulSet", "/apis/apps/v1/namespaces/default/statefulsets/web", "replicas"],
    ["batch/v1", "Job", "/apis/batch/v1/namespaces/default/jobs/web", "parallelism"],
    [
      "apps.kruise.io/v1alpha1",
      "CloneSet",
      "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets/web",
      "replicas",
    ],
    [
      "apps.kruise.io/v1beta1",
      "StatefulSet",
      "/apis/apps.kruise.io/v1beta1/namespaces/default/statefulsets/web",
      "replicas",
    ],
  ] as const;
  for (const [apiVersion, kind, path, field] of sized) {
    const { client, asked } = server({ [path]: { metadata, spec: { [field]: 7 } } });
    const found = await findWorkload(client, target(apiVersion, kind), []);
    t.strictSame(found, { uid: "u", size: 7, terminating: false, selector: "" }, kind);
    t.strictSame(asked, [path], "nothing else is asked");
    const empty = server({
      [path]: { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    });
    t.match(await findWorkload(empty.client, target(apiVersion, kind), []), { size: 1, terminating: true });
    t.equal(await findWorkload(server({}).client, target(apiVersion, kind), []), undefined);
  }
});

const discovered = {
  "/apis/x.io": { preferredVersion: { groupVersion: "x.io/v2" } },
  "/apis/x.io/v2": { resources: [{ name: "pools", kind: "Pool" }] },
  "/apis/x.io/v2/namespaces/default/pools/web": {
    metadata: { uid: "u" },
    spec: { size: 4, roles: [{ n: 2 }, { n: 3 }] },
  },
};

t.test("a kind of others has the size that its scale, the list or the object itself says", async (t) => {
  const plain = server(discovered).client;
  t.match(await findWorkload(plain, target("x.io/v2", "Pool"), []), { size: UNKNOWN_SIZE, selector: "" });
  const scaled = server({
    ...discovered,
    "/apis/x.io/v2": {
      resources: [
        { name: "pools", kind: "Pool" },
        { name: "pools/scale", kind: "Scale" },
      ],
    },
    "/apis/x.io/v2/namespaces/default/pools/web/scale": {
      metadata: { uid: "u" },
      spec: { replicas: 9 },
      status: { selector: "app=web" },
    },
  }).client;
  const found = (client: Client, spread: WorkloadSpread, list = listed({})) =>
    findWorkload(client, spread, list);
  t.match(await found(scaled, target("x.io/v2", "Pool")), { size: 9, selector: "app=web" });
  const byList = { Group: "x.io", Version: "v2", Kind: "Pool", replicasPath: "spec.size" };
  t.match(await found(scaled, target("x.io/v2", "Pool"), listed(byList)), { size: 4, selector: "app=web" });
  t.match(
    await found(plain, target("x.io/v1", "Pool"), listed(byList)),
    { size: UNKNOWN_SIZE },
    "of this version alone",
  );
  const targetFilter = { selector: {}, replicasPathList: ["spec.roles.1.n", "spec.roles.0.n", "spec.none"] };
  const filtered = target("x.io/v2", "Pool", { targetFilter });
  t.match(await found(plain, filtered, listed(byList)), { size: 5 });
  t.equal(await found(server({}).client, filtered), undefined, "no such group");
});

t.test("paths add up whole numbers, whatever else is there", async (t) => {
  const object = { a: { b: 2, c: "3", d: 1.5, e: [4, { f: 5 }] } };
  t.equal(sumAt(object, ["a.b", "a.e.0", "a.e.1.f"]), 11);
  t.equal(sumAt(object, ["a.c", "a.d", "a.e", "a.e.7", "", "constructor.name", "a.b.c"]), 0);
  t.equal(
    sumAt(object, ["a.e.-1", "a.e.", "a.e. ", "a.e..f", "a.e[0]", "a.e[-1].f", "a.e.0x0", "a.e.1e0.f"]),
    0,
  );
});

t.test("who controls an object", async (t) => {
  const web = { apiVersion: "apps/v1", kind: "Deployment", name: "web", controller: true };
  const path = "/apis/apps/v1/namespaces/default/replicasets/web-1";
  const set = { group: "apps", kind: "ReplicaSet", name: "web-1" };
  const { client } = server({
    [path]: { metadata: { ownerReferences: [{ ...web, name: "other", controller: false }, web] } },
  });
  t.strictSame(await ownerOf(client, "default", set), {
    group: "apps",
    kind: "Deployment",
    name: "web",
    uid: "",
  });
  await t.rejects(ownerOf(client, "default", { ...set, name: "gone" }), { code: "NotFound" });
  t.equal(controllerIn({}), undefined);
  const core = { apiVersion: "v1", kind: "Node", name: "n", controller: true };
  t.strictSame(controllerIn({ ownerReferences: [core] }), { group: "", kind: "Node", name: "n", uid: "" });
});
