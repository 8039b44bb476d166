import t from "tap";
import type { Pod, PodCondition } from "../../../kube/index.ts";
import { ofAllOwners, sharedCaches } from "../../runtime/caches.ts";
import { awaitsReadiness, podReadinessController } from "./index.ts";

function pod(changes: Partial<Pod> = {}): Pod {
  return {
    namespace: "default",
    name: "web",
    uid: "pod-1",
    resourceVersion: "1",
    createdAt: 0,
    deletionAt: undefined,
    fieldManagers: "updates",
    labels: {},
    annotations: {},
    finalizers: [],
    controller: undefined,
    nodeName: "",
    readinessGates: ["KruisePodReady"],
    containers: [],
    phase: "Pending",
    conditions: [],
    containerStatuses: [],
    podIP: "",
    ...changes,
  };
}

const condition = (status: string): PodCondition => ({
  type: "KruisePodReady",
  status,
  reason: "",
  message: "",
  lastTransitionAt: 0,
});
const owner = (group: string) => ({ group, kind: "ReplicaSet", name: "x", uid: "u" });

t.test("whose gate is opened here", async (t) => {
  t.equal(awaitsReadiness(pod()), true);
  t.equal(awaitsReadiness(pod({ controller: owner("apps") })), true);
  t.equal(awaitsReadiness(pod({ controller: owner("apps.kruise.io") })), false, "its workload does it");
  t.equal(awaitsReadiness(pod({ readinessGates: [] })), false);
  t.equal(awaitsReadiness(pod({ conditions: [condition("False")] })), false, "somebody holds it");
  t.equal(awaitsReadiness(pod({ conditions: [condition("True")] })), false);
  t.equal(awaitsReadiness(pod({ phase: "Failed" })), false);
});

t.test("pods of other owners are held until it is done", async (t) => {
  const { pods } = sharedCaches({ ...ofAllOwners, others: [podReadinessController] });
  const waiting = pod({ controller: owner("apps") });
  pods.upsert(waiting);
  t.equal(pods.size, 1);
  pods.upsert({ ...waiting, resourceVersion: "2", conditions: [condition("True")] });
  t.equal(pods.size, 0);
});
