import t from "tap";
import type { WorkloadSpread } from "../../../crds/index.ts";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { KubeError, nullLog, nullMetrics, seededRandom } from "../../../kube/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { podChain } from "../../../testkit/controller/pod_chain.ts";
import { spreadOf } from "../../../testkit/controller/workload_spread_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { writersOf } from "../../plan/owners.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import type { AdmissionRequest } from "../../runtime/admission/request.ts";
import { SharedInformers } from "../../runtime/informers.ts";
import { guardSpreadPods } from "./guard.ts";
import { PodPlacement } from "./pod_placement.ts";

const plural = "workloadspreads.apps.kruise.io";

function cluster(spread: WorkloadSpread, paths: Record<string, JsonObject> = {}) {
  const server = fakeServer({
    request: (path) => {
      if (paths[path] !== undefined) return paths[path];
      throw new KubeError("NotFound", `${path} is not there`, { status: 404 });
    },
  });
  server.put(plural, { ...spread });
  const random = seededRandom(1);
  // Pods come one at a time here: there is nothing to wait for.
  const clock = { ...testClock(), sleep: async () => undefined };
  const { client } = server;
  const deps = { client, clock, random, log: nullLog, metrics: nullMetrics, namespace: "" };
  const shared = new SharedInformers(deps);
  const placement = new PodPlacement({
    client,
    writesFor: writersOf(client),
    clock,
    random,
    options: { systemNamespace: "kruise-system" },
    informers: {
      cacheOf: (resource, indexes) => shared.cacheOf(resource, indexes),
      caughtUp: async () => undefined,
    },
  });
  shared.cacheOf(workloadSpreadResource).upsert(spread);
  const mutate = podChain({ keepManagedFields: true, random, clock, spreads: placement });
  const admit = async (object: JsonObject, changes: Partial<AdmissionRequest> = {}): Promise<JsonObject> => {
    const answer = await mutate(admissionRequest({ object, operation: "CREATE", ...changes }));
    if (!answer.allowed) throw new Error(`${answer.code} ${answer.message}`);
    return applyJsonPatch(object, [...(answer.patch ?? [])]);
  };
  const guard = guardSpreadPods(placement, client);
  const status = () => Object(server.object(plural, "default/web-spread")).status;
  return { server, admit, guard, status };
}

function podOf(name: string, owner: object = {}, labels: Record<string, string> = {}): JsonObject {
  const reference = { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "web", controller: true };
  return {
    metadata: { name, namespace: "default", labels, ownerReferences: [{ ...reference, ...owner }] },
    spec: { containers: [] },
  };
}

function annotationOf(pod: JsonObject): unknown {
  return Object(pod["metadata"]).annotations?.["apps.kruise.io/matched-workloadspread"];
}

t.test("a pod gets its place once, a dry run leaves no trace, and others are as they were", async (t) => {
  const { admit, server, status } = cluster(spreadOf([1, 1]));
  t.equal(annotationOf(await admit(podOf("p"), { dryRun: true })), undefined);
  t.equal(annotationOf(await admit(podOf("p", { name: "other" }))), undefined);
  t.equal(annotationOf(await admit(podOf("p", { kind: "Pool", apiVersion: "x.io/v1" }))), undefined);
  t.equal(server.patches.length, 0);
  t.equal(annotationOf(await admit(podOf("p"))), '{"name":"web-spread","subset":"a"}');
  t.equal(
    annotationOf(await admit(podOf(""), { uid: "u1" })),
    '{"name":"web-spread","subset":"b","uid":"u1"}',
  );
  t.equal(annotationOf(await admit(podOf("q"))), undefined, "all caps are reached");
  const [a, b] = status().versionedSubsetStatuses.versionIgnored;
  t.strictSame(Object.keys(a.creatingPods), ["p"]);
  t.strictSame(Object.keys(b.creatingPods), ["u1"]);
});

t.test(
  "a pod without a name takes one place, also where the server asks twice for one request",
  async (t) => {
    const { admit, status } = cluster(spreadOf([1, 1]));
    const place = '{"name":"web-spread","subset":"a","uid":"u1"}';
    t.equal(annotationOf(await admit(podOf(""), { uid: "u1" })), place);
    t.equal(annotationOf(await admit(podOf(""), { uid: "u1" })), place);
    const [a, b] = status().versionedSubsetStatuses.versionIgnored;
    t.strictSame([Object.keys(a.creatingPods), b.creatingPods], [["u1"], undefined]);
  },
);

t.test(
  "pods of a Deployment are found through their ReplicaSet, and refused while it is not known",
  async (t) => {
    const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1" };
    const path = "/apis/apps/v1/namespaces/default/replicasets/web-1";
    const owner = { ownerReferences: [{ ...targetRef, controller: true }] };
    const { admit, status } = cluster(spreadOf([5], { targetRef }), { [path]: { metadata: owner } });
    const pod = podOf("", set, { "pod-template-hash": "h1" });
    t.match(annotationOf(await admit(pod)), /"subset":"a"/);
    t.strictSame(Object.keys(status().versionedSubsetStatuses), ["h1"]);
    const missing = cluster(spreadOf([5], { targetRef }));
    await t.rejects(missing.admit(pod), /^500 .*web-1, which owns the pod, is not found/);
  },
);

t.test("pods are created with the cost of their deletion where their controller heeds it", async (t) => {
  const costs = async (kind: string, apiVersion: string, caps: readonly (number | undefined)[]) => {
    const targetRef = { apiVersion, kind, name: "web" };
    const { admit } = cluster(spreadOf(caps, { targetRef }));
    const made: unknown[] = [];
    for (const name of ["web-0", "web-1", "web-2"]) {
      const { annotations } = Object((await admit(podOf(name, targetRef)))["metadata"]);
      made.push(annotations?.["controller.kubernetes.io/pod-deletion-cost"]);
    }
    return made;
  };
  t.strictSame(await costs("CloneSet", "apps.kruise.io/v1beta1", [1, undefined]), ["200", "100", "100"]);
  t.strictSame(await costs("Deployment", "apps/v1", [1, 1]), ["200", "100", undefined], "none of no subset");
  t.strictSame(await costs("ReplicaSet", "apps/v1", [undefined]), ["100", "100", "100"]);
  t.strictSame(await costs("Job", "batch/v1", [1, undefined]), [undefined, undefined, undefined]);
  t.strictSame(await costs("StatefulSet", "apps/v1", [1, undefined]), [undefined, undefined, undefined]);
});

t.test("single subsets without cap and StatefulSets need no ledger", async (t) => {
  const single = cluster(spreadOf([undefined]));
  t.equal(annotationOf(await single.admit(podOf("p"))), '{"name":"web-spread","subset":"a"}');
  const targetRef = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };
  const set = cluster(spreadOf([1, 1], { targetRef }));
  const places = ["web-0", "web-1", "web-2"].map(async (name) =>
    annotationOf(await set.admit(podOf(name, targetRef))),
  );
  t.strictSame(await Promise.all(places), [
    '{"name":"web-spread","subset":"a"}',
    '{"name":"web-spread","subset":"b"}',
    undefined,
  ]);
  t.equal(single.server.patches.length + set.server.patches.length, 0);
});

t.test("filters decide, and one without a selector takes no pod", async (t) => {
  const matching = { selector: { matchLabels: { role: "worker" } } };
  const { admit } = cluster(spreadOf([1], { targetFilter: matching }));
  t.equal(annotationOf(await admit(podOf("p"))), undefined);
  t.ok(annotationOf(await admit(podOf("p", {}, { role: "worker" }))));
  const empty = cluster(spreadOf([1], { targetFilter: { replicasPathList: [] } }));
  t.equal(annotationOf(await empty.admit(podOf("p"))), undefined);
});

t.test("a deletion is recorded once, a dry one not at all", async (t) => {
  const { admit, guard, status, server } = cluster(spreadOf([1]));
  const pod = await admit(podOf("p"));
  const seen = [{ name: "a", replicas: 1, missingReplicas: 0 }];
  const stored = { ...spreadOf([1]), status: { versionedSubsetStatuses: { versionIgnored: seen } } };
  server.put(plural, stored);
  const deletion = (changes: Partial<AdmissionRequest> = {}) =>
    guard(admissionRequest({ oldObject: pod, ...changes }));
  t.strictSame(await deletion({ dryRun: true }), { allowed: true });
  t.strictSame(status().versionedSubsetStatuses.versionIgnored, seen);
  t.strictSame(await deletion(), { allowed: true });
  t.strictSame(await deletion(), { allowed: true });
  const [row] = status().versionedSubsetStatuses.versionIgnored;
  t.match(row, { missingReplicas: 1, deletingPods: { p: String } });
});

t.test("a deletion from a subset without cap asks nobody", async (t) => {
  const { admit, guard, server } = cluster(spreadOf([0, undefined]));
  const pod = await admit(podOf("p"));
  t.match(annotationOf(pod), /"subset":"b"/);
  server.calls.length = 0;
  t.strictSame(await guard(admissionRequest({ oldObject: pod })), { allowed: true });
  t.strictSame(server.calls, []);
});
