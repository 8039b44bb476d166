/** ContainerRecreateRequest. Spec: containers. */

import { ageColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { preStopHook } from "../probe_fragments.ts";
import { convertContainerRecreateRequest } from "./convert.ts";

const container = s.object("One container to recreate.", {
  name: s.text("Name of a container of the pod that was started, each once; no init or ephemeral container."),
  ports: s.optionalObjectList(
    "Ports of the container, filled in from the pod for a preStop hook that names one; not to be written.",
    "One port.",
    {
      containerPort: s.int32("Number of the port in the container, 1 to 65535."),
      hostIP: s.optional(s.text("Address of the node that the port is bound to.")),
      hostPort: s.optional(s.int32("Number of the port on the node, 1 to 65535.")),
      name: s.optional(s.text("Name of the port.")),
      protocol: s.optional(s.text("TCP (the default), UDP or SCTP.", { default: "TCP" })),
    },
  ),
  preStop: s.optional(
    preStopHook(
      "What runs in the container before it is stopped, filled in from the pod; not to be written.",
    ),
  ),
  statusContext: s.optionalObject(
    "The container as it was when the request was made, filled in from the pod; not to be written.",
    {
      containerID: s.text("Identity in the runtime of the container that is to be stopped."),
      restartCount: s.int32("Number of its restarts."),
    },
  ),
});

const phases = ["Pending", "Recreating", "Succeeded", "Failed", "Completed"] as const;
const phaseWords =
  "State of the request: Pending, Recreating or Completed, also where a container failed. " +
  "Succeeded and Failed are states of containers.";
const statePhaseWords =
  "State of the container: Pending, Recreating, Succeeded or Failed. Completed is a state of requests.";

/** The two versions differ in what the API server itself checks. */
function spec(strict: boolean) {
  const rules = strict ? { minimum: 0 } : {};
  const failureWords =
    "What a container means that could not be recreated. Fail (the default): the request " +
    "ends. Ignore: the others go on.";
  return s.object("What is wanted. Once the request is made, nothing of it can be changed.", {
    activeDeadlineSeconds: s.optional(
      s.int64(
        "Seconds from the creation of the request after which it ends, at least 3; without it " +
          "there is no limit. A container that is being stopped still restarts.",
        rules,
      ),
    ),
    containers: s.list("Containers to recreate, stopped in this order; at least one.", container),
    podName: s.text("Name of the pod, in the namespace of the request; it must be on a node with an agent."),
    strategy: s.optionalObject("How the containers are recreated.", {
      failurePolicy: s.optional(strict ? s.choice(failureWords, ["Fail", "Ignore"]) : s.text(failureWords)),
      forceRecreate: s.optional(
        s.flag(
          "Stop containers, too, that restarted since the request was made or are just starting; " +
            "false by default.",
        ),
      ),
      minStartedSeconds: s.optional(
        s.int32("Seconds for which a new container must run to count as recreated; 0 by default.", rules),
      ),
      orderedRecreate: s.optional(
        s.flag(
          "Stop a container only when the one before it in the list is recreated; false by default: " +
            "they start at the same time.",
        ),
      ),
      terminationGracePeriodSeconds: s.optional(
        s.int64(
          "Seconds that a container has for its preStop hook and its end; those of the pod by " +
            "default. With 0 the hook is left out.",
          rules,
        ),
      ),
      unreadyGracePeriodSeconds: s.optional(
        s.int64(
          "Seconds for which the pod is not ready, and so out of its Services, before the first " +
            "container is stopped; without it there is no such wait. The pod needs the readiness gate " +
            "KruisePodReady.",
          rules,
        ),
      ),
    }),
    ttlSecondsAfterFinished: s.optional(
      s.int32(
        "Seconds after its end until the request is deleted, 0 for at once; without it the request stays.",
        rules,
      ),
    ),
  });
}

function states(strict: boolean) {
  return s.objectList("How far each container is.", "One container.", {
    isKilled: s.optional(s.flag("Whether this request has stopped the old container.")),
    message: s.optional(s.text("What the container waits for, or what went wrong.")),
    name: s.text("Name of the container."),
    phase: strict ? s.choice(statePhaseWords, phases) : s.text(statePhaseWords),
  });
}

const statusV1alpha1 = s.statusOf({
  completionTime: s.optional(s.dateTime("When the request ended.")),
  containerRecreateStates: s.optional(states(false)),
  message: s.optional(s.text("Why the request ended, unless all is well.")),
  phase: s.text(phaseWords),
});

const status = s.statusOf({
  completionTime: s.optional(s.dateTime("When the request ended.")),
  conditions: s.strictConditions(
    "PreRecreateGrace: the pod has been made not ready, for unreadyGracePeriodSeconds.",
  ),
  containerRecreateStates: s.optional(states(true)),
  containerStatusSnapshot: s.optionalObjectList(
    "Recreated containers as the status of the pod last showed them.",
    "One container.",
    {
      containerID: s.optional(s.text("Identity of the new container in the runtime.")),
      name: s.text("Name of the container."),
      ready: s.flag("Whether the container is ready."),
      restartCount: s.int32("Number of its restarts."),
    },
  ),
  message: s.optional(s.text("Why the request ended, unless all is well.")),
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
