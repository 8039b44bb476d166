import t from "tap";
import type { PersistentPodState, PersistentPodStateSpec } from "../../../crds/index.ts";
import { cloneJson, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { PodDraft } from "../../runtime/admission/pod_draft.ts";
import { addPersistentPlacement } from "./pod_step.ts";

const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "1", controller: true };

function podOf(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: "web-0", ownerReferences: [owner], ...metadata },
    spec: { containers: [], ...spec },
  };
}

const spec: PersistentPodStateSpec = {
  targetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
  requiredPersistentTopology: { keys: ["zone"] },
  preferredPersistentTopology: [{ weight: 100, preference: { keys: ["host", "rack"] } }],
};

function stateWith(changes: Partial<PersistentPodStateSpec> = {}, labels = { zone: "a", host: "east" }) {
  const podStates = {
    "web-0": { nodeName: "east", nodeTopologyLabels: labels },
    "web-1": { nodeName: "east" },
  };
  return {
    metadata: { name: "state" },
    spec: { ...spec, ...changes },
    status: { observedGeneration: 1, podStates },
  };
}

async function place(
  pod: JsonObject,
  state: PersistentPodState | null = stateWith(),
  operation = "CREATE" as const,
) {
  const request = admissionRequest({ operation, name: "", object: pod });
  const asked: string[] = [];
  const before = cloneJson(pod);
  const draft = new PodDraft(request, pod);
  await addPersistentPlacement(draft, async (...target) => {
    asked.push(target.join("/"));
    return state ?? undefined;
  });
  t.strictSame(pod, before, "the request is not changed");
  return { pod: draft.pod, asked, changed: draft.changed };
}

t.test("recorded labels become a node selector and a preferred term", async (t) => {
  const { pod, asked } = await place(podOf());
  t.same(asked, ["default/apps/StatefulSet/web"]);
  const term = {
    weight: 100,
    preference: { matchExpressions: [{ key: "host", operator: "In", values: ["east"] }] },
  };
  t.same(pod, {
    metadata: {
      name: "web-0",
      ownerReferences: [owner],
      annotations: { "kruise.io/injected-persistent-pod-state": "state" },
    },
    spec: {
      containers: [],
      nodeSelector: { zone: "a" },
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] } },
    },
  });
});

t.test("what the pod has already stays, but for entries of the same key", async (t) => {
  const present = { weight: 1, preference: { matchExpressions: [{ key: "disk", operator: "Exists" }] } };
  const affinity = {
    podAffinity: { x: 1 },
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {},
      preferredDuringSchedulingIgnoredDuringExecution: [present],
    },
  };
  const { pod } = await place(podOf({ nodeSelector: { zone: "b", disk: "ssd" }, affinity }));
  t.match(pod, {
    spec: {
      nodeSelector: { zone: "a", disk: "ssd" },
      affinity: {
        podAffinity: { x: 1 },
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {},
          preferredDuringSchedulingIgnoredDuringExecution: [present, { weight: 100 }],
        },
      },
    },
  });
});

t.test("terms without a recorded label are left out, weights are kept in bounds", async (t) => {
  const preferredPersistentTopology = [
    { weight: 7, preference: { keys: ["rack"] } },
    { weight: 0, preference: { keys: ["host"] } },
    { weight: 500, preference: { keys: ["host"] } },
  ];
  const { pod } = await place(podOf(), stateWith({ preferredPersistentTopology }));
  t.match(pod["spec"], {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100 }] } },
  });
});

t.test("a pod without a record is not constrained", async (t) => {
  t.equal((await place(podOf({}, { name: "web-9" }))).changed, false);
  t.equal((await place(podOf({}, { name: "web-1" }))).changed, false, "no labels were recorded");
  t.equal((await place(podOf({}, { name: "constructor" }))).changed, false);
  t.equal((await place(podOf(), null)).changed, false, "no object");
});

t.test("pods of other owners are not looked up", async (t) => {
  t.same((await place(podOf({}, { ownerReferences: [{ ...owner, controller: false }] }))).asked, []);
  t.same((await place(podOf({}, { ownerReferences: [{ ...owner, kind: "ReplicaSet" }] }))).asked, []);
  t.same((await place(podOf({}, { ownerReferences: [] }))).asked, []);
});
