/** ContainerRecreateRequest. Spec: containers. */

import { ageColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  dateTime,
  flag,
  int32,
  int64,
  list,
  object,
  objectList,
  optional,
  type Static,
  specOf,
  statusOf,
  strictConditions,
  text,
} from "../dsl.ts";
import { preStopHook } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertContainerRecreateRequest } from "./convert.ts";

const container = object("One container to recreate.", {
  name: text("Container of the pod."),
  ports: optional(
    objectList("Ports, filled in for the preStop hook.", "One port.", {
      containerPort: int32("Port in the container."),
      hostIP: optional(text("Address on the node.")),
      hostPort: optional(int32("Port on the node.")),
      name: optional(text("Name.")),
      protocol: optional(text("TCP, UDP or SCTP.", { default: "TCP" })),
    }),
  ),
  preStop: optional(preStopHook("Hook run before the container is stopped, filled in from the pod.")),
  statusContext: optional(
    object("The container as it was when the request was made.", {
      containerID: text("Container that is to be stopped."),
      restartCount: int32("Its restart count."),
    }),
  ),
});

const phases = ["Pending", "Recreating", "Succeeded", "Failed", "Completed"] as const;
const phaseWords = "Pending, Recreating, Succeeded, Failed or Completed.";

/** The two versions differ in what the API server itself checks. */
function spec(strict: boolean) {
  const rules = strict ? { minimum: 0 } : {};
  const failureWords = "Whether one failed container ends the request: Fail (default) or Ignore.";
  return specOf({
    activeDeadlineSeconds: optional(int64("Seconds after which the request ends.", rules)),
    containers: list("Containers to recreate.", container),
    podName: text("Pod in the namespace of the request."),
    strategy: optional(
      object("How containers are recreated.", {
        failurePolicy: optional(strict ? choice(failureWords, ["Fail", "Ignore"]) : text(failureWords)),
        forceRecreate: optional(flag("Recreate containers that restarted since the request, too.")),
        minStartedSeconds: optional(int32("Seconds a new container must run to count as recreated.", rules)),
        orderedRecreate: optional(flag("One container after the other.")),
        terminationGracePeriodSeconds: optional(
          int64("Seconds a container has to stop; that of the pod by default.", rules),
        ),
        unreadyGracePeriodSeconds: optional(
          int64("Seconds the pod is not ready before the first stop.", rules),
        ),
      }),
    ),
    ttlSecondsAfterFinished: optional(int32("Seconds after which the finished request is deleted.", rules)),
  });
}

function states(strict: boolean) {
  return objectList("How far each container is.", "One container.", {
    isKilled: optional(flag("Whether the old container was stopped.")),
    message: optional(text("What went wrong.")),
    name: text("Container."),
    phase: strict ? choice(phaseWords, phases) : text(phaseWords),
  });
}

const statusV1alpha1 = statusOf({
  completionTime: optional(dateTime("When the request ended.")),
  containerRecreateStates: optional(states(false)),
  message: optional(text("State in words.")),
  phase: text(phaseWords),
});

const status = statusOf({
  completionTime: optional(dateTime("When the request ended.")),
  conditions: optional(strictConditions()),
  containerRecreateStates: optional(states(true)),
  containerStatusSnapshot: optional(
    objectList("Containers as the agent saw them last.", "One container.", {
      containerID: optional(text("Container in the runtime.")),
      name: text("Container."),
      ready: flag("Whether it is ready."),
      restartCount: int32("Its restart count."),
    }),
  ),
  message: optional(text("State in words.")),
  phase: choice(phaseWords, phases),
});

const specV1alpha1 = spec(false);
const specV1beta1 = spec(true);

export type ContainerRecreateRequestSpec = Static<typeof specV1beta1>;
export type ContainerRecreateRequestStatus = Static<typeof status>;
export type ContainerRecreateRequest = KindObject<
  ContainerRecreateRequestSpec,
  ContainerRecreateRequestStatus
>;
export type ContainerRecreateRequestV1alpha1 = KindObject<
  Static<typeof specV1alpha1>,
  Static<typeof statusV1alpha1>
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
