/** A CloneSet in the middle of an update, with all that its plan reads. */
import { type AnyObject, toAnyObject } from "../../cli/fields.ts";
import type { FakeServer } from "../kube/fake_server.ts";
import { fakeCluster } from "./fake_cluster.ts";
import { cloneSet, controllerRevision, podTemplate } from "./workload_builder.ts";

const clones = "clonesets.apps.kruise.io";

/** Three pods at an old revision; the template asks for another image. `rolling`: more of its rollingUpdate. `broken`: last letters of pods that are not ready. */
export function clusterOfOldPods(rolling: object, broken: readonly string[] = []): FakeServer {
  const fake = fakeCluster();
  const set = cloneSet("sample", {
    spec: {
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1, ...rolling },
      },
      template: podTemplate("sample", "nginx:1.21"),
    },
    status: {
      updatedReplicas: 0,
      updatedReadyReplicas: 0,
      currentRevision: "sample-old",
      updateRevision: "sample-new",
    },
  });
  fake.put(clones, set);
  // As the controller writes it: with the members that the canonical form of a template always has.
  const containers = [{ name: "nginx", image: "nginx:1.20", resources: {} }];
  const template = {
    $patch: "replace",
    metadata: { creationTimestamp: null, labels: { app: "sample" } },
    spec: { containers },
  };
  fake.put("controllerrevisions.apps", {
    ...controllerRevision(set, "old", 1, "nginx:1.20"),
    data: { spec: { template } },
  });
  fake.put("nodes", {
    metadata: { name: "node1" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  for (const letter of ["a", "b", "c"]) fake.put("pods", pod(`sample-${letter}`, !broken.includes(letter)));
  return fake;
}

function pod(name: string, ready: boolean): AnyObject {
  const status = ready ? "True" : "False";
  const at = "2025-12-31T23:00:00Z";
  return toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      resourceVersion: "7",
      creationTimestamp: at,
      labels: {
        app: "sample",
        "controller-revision-hash": "sample-old",
        "pod-template-hash": "old",
        "lifecycle.apps.kruise.io/state": "Normal",
      },
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: "CloneSet",
          name: "sample",
          uid: "uid-sample",
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: "node1",
      readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
      containers: [{ name: "nginx", image: "nginx:1.20" }],
    },
    status: {
      phase: "Running",
      conditions: [
        { type: "Ready", status, lastTransitionTime: at },
        { type: "InPlaceUpdateReady", status: "True", lastTransitionTime: at },
      ],
      containerStatuses: [
        {
          name: "nginx",
          image: "nginx:1.20",
          imageID: "sha256:1",
          ready,
          restartCount: 0,
          state: { running: { startedAt: at } },
        },
      ],
    },
  });
}
