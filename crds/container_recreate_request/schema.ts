/** ContainerRecreateRequest. Spec: containers. */

import { ageColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { preStopHook } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertContainerRecreateRequest } from "./convert.ts";

const container = s.object("One container to recreate.", {
  name: s.text("Container of the pod."),
  ports: s.optionalObjectList("Ports, filled in for the preStop hook.", "One port.", {
    containerPort: s.int32("Port in the container."),
    hostIP: s.optional(s.text("Address on the node.")),
    hostPort: s.optional(s.int32("Port on the node.")),
    name: s.optional(s.text("Name.")),
    protocol: s.optional(s.text("TCP, UDP or SCTP.", { default: "TCP" })),
  }),
  preStop: s.optional(preStopHook("Hook run before the container is stopped, filled in from the pod.")),
  statusContext: s.optionalObject("The container as it was when the request was made.", {
    containerID: s.text("Container that is to be stopped."),
    restartCount: s.int32("Its restart count."),
  }),
});

const phases = ["Pending", "Recreating", "Succeeded", "Failed", "Completed"] as const;
const phaseWords = "Pending, Recreating, Succeeded, Failed or Completed.";

/** The two versions differ in what the API server itself checks. */
function spec(strict: boolean) {
  const rules = strict ? { minimum: 0 } : {};
  const failureWords = "Whether one failed container ends the request: Fail (default) or Ignore.";
  return s.specOf({
    activeDeadlineSeconds: s.optional(s.int64("Seconds after which the request ends.", rules)),
    containers: s.list("Containers to recreate.", container),
    podName: s.text("Pod in the namespace of the request."),
    strategy: s.optionalObject("How containers are recreated.", {
      failurePolicy: s.optional(strict ? s.choice(failureWords, ["Fail", "Ignore"]) : s.text(failureWords)),
      forceRecreate: s.optional(s.flag("Recreate containers that restarted since the request, too.")),
      minStartedSeconds: s.optional(
        s.int32("Seconds a new container must run to count as recreated.", rules),
      ),
      orderedRecreate: s.optional(s.flag("One container after the other.")),
      terminationGracePeriodSeconds: s.optional(
        s.int64("Seconds a container has to stop; that of the pod by default.", rules),
      ),
      unreadyGracePeriodSeconds: s.optional(
        s.int64("Seconds the pod is not ready before the first stop.", rules),
      ),
    }),
    ttlSecondsAfterFinished: s.optional(
      s.int32("Seconds after which the finished request is deleted.", rules),
    ),
  });
}

function states(strict: boolean) {
  return s.objectList("How far each container is.", "One container.", {
    isKilled: s.optional(s.flag("Whether the old container was stopped.")),
    message: s.optional(s.text("What went wrong.")),
    name: s.text("Container."),
    phase: strict ? s.choice(phaseWords, phases) : s.text(phaseWords),
  });
}

const statusV1alpha1 = s.statusOf({
  completionTime: s.optional(s.dateTime("When the request ended.")),
  containerRecreateStates: s.optional(states(false)),
  message: s.optional(s.text("State in words.")),
  phase: s.text(phaseWords),
});

const status = s.statusOf({
  completionTime: s.optional(s.dateTime("When the request ended.")),
  conditions: s.strictConditions(),
  containerRecreateStates: s.optional(states(true)),
  containerStatusSnapshot: s.optionalObjectList("Containers as the agent saw them last.", "One container.", {
    containerID: s.optional(s.text("Container in the runtime.")),
    name: s.text("Container."),
    ready: s.flag("Whether it is ready."),
    restartCount: s.int32("Its restart count."),
  }),
  message: s.optional(s.text("State in words.")),
  phase: s.choice(phaseWords, phases),
});

const specV1alpha1 = spec(false);
const specV1beta1 = spec(true);

export type ContainerRecreateRequestSpec = s.Static<typeof specV1beta1>;
export type ContainerRecreateRequestStatus = s.Static<typeof status>;
export type ContainerRecreateRequest = KindObject<
  ContainerRecreateRequestSpec,
  ContainerRecreateRequestStatus
>;

const columns: readonly PrinterColumn[] = [
  textColumn("PHASE", ".status.phase", phaseWords),
  textColumn("POD", ".spec.podName", "Pod of the containers."),
  textColumn("NODE", ".metadata.labels.crr\\.apps\\.kruise\\.io/node-name", "Node of the pod."),
  ageColumn,
];

export const containerRecreateRequest = defineKind({
  kind: "ContainerRecreateRequest",
  plural: "containerrecreaterequests",
  shortNames: ["crr"],
  description: "Restarts containers of a running pod.",
  conversion: convertContainerRecreateRequest,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status: statusV1alpha1, columns },
    { name: "v1beta1", storage: true, spec: specV1beta1, status, columns },
  ],
});
