/** Pieces that several kinds share, so that a field means and reads the same everywhere. */
import {
  choice,
  dateTime,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  map,
  nodeNamesOrLabels,
  object,
  objectList,
  optional,
  stringMap,
  strings,
  type TProperties,
  type TSchema,
  text,
} from "./dsl.ts";

function hook(description: string) {
  return object(description, {
    finalizersHandler: optional(strings("Finalizers that hold the pod in this state while present.")),
    labelsHandler: optional(stringMap("Labels that hold the pod in this state while present.")),
    markPodNotReady: optional(flag("Take the pod out of its endpoints while it is held.")),
  });
}

export function lifecycle() {
  return object("Hooks at which other controllers may hold a pod.", {
    inPlaceUpdate: optional(hook("Held before and after an in-place update.")),
    preDelete: optional(hook("Held before deletion.")),
    preNormal: optional(hook("Held after creation, until the pod counts as normal.")),
  });
}

export function inPlaceUpdateStrategy() {
  return object("How an update in place is carried out.", {
    gracePeriodSeconds: optional(int32("Seconds a pod is not ready before its spec is changed.")),
    imagePreDownloadMinUpdatedReadyPods: optional(
      int32("Updated pods that must be ready before the new image is pulled ahead on the other nodes."),
    ),
    imagePreDownloadParallelism: optional(intOrString("Nodes that pull the new image at the same time.")),
    imagePreDownloadTimeoutSeconds: optional(int32("Seconds after which one pull is given up.")),
  });
}

export function priorityStrategy() {
  return object("Which pods are updated first; one of the two forms.", {
    orderPriority: optional(
      objectList("Order by the number at the end of a label's value.", "One order key.", {
        orderedKey: text("Label whose value ends in the order number; higher goes first."),
      }),
    ),
    weightPriority: optional(
      objectList("Order by the sum of the weights of matching terms.", "One weight.", {
        matchSelector: labelSelector("Pods that get the weight."),
        weight: int32("0 to 100; higher sums go first."),
      }),
    ),
  });
}

export function scatterStrategy() {
  return objectList(
    "Pods with these labels are spread evenly over the update order.",
    "Pods with this label are spread.",
    { key: text("Label key."), value: text("Label value.") },
  );
}

export function objectReference(description: string) {
  return object(
    description,
    {
      apiVersion: optional(text("API version of the object.")),
      fieldPath: optional(text("Part of the object that is meant.")),
      kind: optional(text("Kind of the object.")),
      name: optional(text("Name of the object.")),
      namespace: optional(text("Namespace of the object.")),
      resourceVersion: optional(text("Version of the object that is meant.")),
      uid: optional(text("UID of the object.")),
    },
    { atomic: true },
  );
}

/** Of statuses: which generation of the spec they speak of. */
export const observedGeneration = optional(int64("Generation that the status is about."));

/** Of statuses of kinds with revisions. */
export const collisionCount = optional(int32("Counter mixed into revision hashes when two collide."));

/** Of specs of workloads. */
export const revisionHistoryLimit = optional(int32("Revisions kept besides those in use; 10 by default."));

/** Of specs of workloads. */
export const templateSelector = labelSelector(
  "Labels that the template carries and that find the pods; cannot be changed.",
);

/** Of specs of workloads: the type and, for RollingUpdate, the settings that the kind has. */
export function updateStrategy<T extends TSchema>(rollingUpdate: T) {
  return object("How pods are brought to a new revision.", {
    rollingUpdate: optional(rollingUpdate),
    type: optional(text("RollingUpdate (default) or OnDelete.")),
  });
}

/** Of statuses of jobs. */
export const startTime = optional(dateTime("When the job began."));
export const completionTime = optional(dateTime("When the job ended."));

export function targetReference(description: string) {
  return object(description, {
    apiVersion: text("API version of the workload."),
    kind: text("Kind of the workload."),
    name: text("Name of the workload."),
  });
}

function nodeSelectorRequirements(description: string) {
  return objectList(
    description,
    "One condition on a node.",
    {
      key: text("Label or field of the node."),
      operator: text("In, NotIn, Exists, DoesNotExist, Gt or Lt."),
      values: optional(strings("Values for the operator.", { atomic: true })),
    },
    { atomic: true },
  );
}

export function nodeSelectorTerm(description: string) {
  return object(
    description,
    {
      matchExpressions: optional(nodeSelectorRequirements("Conditions on the node's labels.")),
      matchFields: optional(nodeSelectorRequirements("Conditions on the node's fields.")),
    },
    { atomic: true },
  );
}

export function tolerations(description: string) {
  return objectList(description, "One tolerated taint.", {
    effect: optional(text("Taint effect; empty for all.")),
    key: optional(text("Taint key; empty for all.")),
    operator: optional(text("Equal or Exists.")),
    tolerationSeconds: optional(int64("Seconds a NoExecute taint is tolerated.")),
    value: optional(text("Taint value.")),
  });
}

function execAction() {
  return object("Run a command in the container.", {
    command: optional(strings("Command and arguments; no shell.", { atomic: true })),
  });
}

function httpGetAction() {
  return object("Send an HTTP GET.", {
    host: optional(text("Host name; the pod's IP by default.")),
    httpHeaders: optional(
      objectList(
        "Headers to send.",
        "One header.",
        { name: text("Header name."), value: text("Header value.") },
        {
          atomic: true,
        },
      ),
    ),
    path: optional(text("Path on the server.")),
    port: intOrString("Port number or name."),
    scheme: optional(text("HTTP or HTTPS.")),
  });
}

function tcpSocketAction() {
  return object("Open a TCP connection.", {
    host: optional(text("Host name; the pod's IP by default.")),
    port: intOrString("Port number or name."),
  });
}

/** What a container runs before it is stopped. */
export function preStopHook(description: string) {
  return object(description, {
    exec: optional(execAction()),
    httpGet: optional(httpGetAction()),
    tcpSocket: optional(tcpSocketAction()),
  });
}

export function probe(description: string) {
  return object(description, {
    exec: optional(execAction()),
    failureThreshold: optional(int32("Failures in a row until the probe counts as failed.")),
    grpc: optional(
      object("Ask a gRPC health service.", {
        port: int32("Port of the gRPC health service."),
        service: optional(text("Service name in the request.", { default: "" })),
      }),
    ),
    httpGet: optional(httpGetAction()),
    initialDelaySeconds: optional(int32("Seconds from the container's start to the first probe.")),
    periodSeconds: optional(int32("Seconds between probes.")),
    successThreshold: optional(int32("Successes in a row until the probe counts as passed.")),
    tcpSocket: optional(tcpSocketAction()),
    terminationGracePeriodSeconds: optional(int64("Grace period when a failed probe ends the pod.")),
    timeoutSeconds: optional(int32("Seconds until one probe counts as failed.")),
  });
}

export function subsetScheduleStrategy<P extends TProperties>(adaptive: P) {
  return object("How pods are given to subsets.", {
    adaptive: optional(object("Settings of the adaptive strategy.", adaptive)),
    type: optional(
      choice("Whether pods move on from subsets that cannot take them.", ["Adaptive", "Fixed", ""]),
    ),
  });
}

export function timesByName(description: string) {
  return map(description, dateTime("When it was recorded."));
}

/** What ImagePullJob and ImageListPullJob have in common. */
export function imagePullSettings() {
  return {
    completionPolicy: object("When the job is done.", {
      activeDeadlineSeconds: optional(int64("Seconds after which the job ends.")),
      ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
      type: optional(text("Always (default): the job ends; Never: it goes on with new nodes.")),
    }),
    imagePullPolicy: optional(text("IfNotPresent (default) or Always.")),
    parallelism: optional(intOrString("Nodes that pull at the same time; 1 by default.")),
    podSelector: optional(labelSelector("Pull on the nodes of these pods.")),
    pullPolicy: optional(
      object("How one node pulls.", {
        backoffLimit: optional(int32("Attempts until the pull counts as failed; 3 by default.")),
        timeoutSeconds: optional(int32("Seconds after which one attempt is given up; 600 by default.")),
      }),
    ),
    pullSecrets: optional(strings("Secrets of the job's namespace with registry credentials.")),
    sandboxConfig: optional(sandboxConfig()),
    selector: optional(nodeNamesOrLabels("Nodes that pull; all by default.")),
  };
}

export function sandboxConfig() {
  return object("Metadata that is handed to the container runtime with the pull.", {
    annotations: optional(stringMap("Annotations of the sandbox.")),
    labels: optional(stringMap("Labels of the sandbox.")),
  });
}
