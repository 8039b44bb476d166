/** Pieces that several kinds share, so that a field means and reads the same everywhere. */
import * as s from "./dsl.ts";

function hook(description: string) {
  return s.object(description, {
    finalizersHandler: s.optional(s.strings("Finalizers that hold the pod in this state while present.")),
    labelsHandler: s.optional(s.stringMap("Labels that hold the pod in this state while present.")),
    markPodNotReady: s.optional(s.flag("Take the pod out of its endpoints while it is held.")),
  });
}

export const lifecycle = s.optionalObject("Hooks at which other controllers may hold a pod.", {
  inPlaceUpdate: s.optional(hook("Held before and after an in-place update.")),
  preDelete: s.optional(hook("Held before deletion.")),
  preNormal: s.optional(hook("Held after creation, until the pod counts as normal.")),
});

export const inPlaceUpdateStrategy = s.optionalObject("How an update in place is carried out.", {
  gracePeriodSeconds: s.optional(s.int32("Seconds a pod is not ready before its spec is changed.")),
  imagePreDownloadMinUpdatedReadyPods: s.optional(
    s.int32("Updated pods that must be ready before the new image is pulled ahead on the other nodes."),
  ),
  imagePreDownloadParallelism: s.optional(s.intOrString("Nodes that pull the new image at the same time.")),
  imagePreDownloadTimeoutSeconds: s.optional(s.int32("Seconds after which one pull is given up.")),
});

export const priorityStrategy = s.optionalObject("Which pods are updated first; one of the two forms.", {
  orderPriority: s.optionalObjectList(
    "Order by the number at the end of a label's value.",
    "One order key.",
    {
      orderedKey: s.text("Label whose value ends in the order number; higher goes first."),
    },
  ),
  weightPriority: s.optionalObjectList("Order by the sum of the weights of matching terms.", "One weight.", {
    matchSelector: s.labelSelector("Pods that get the weight."),
    weight: s.int32("0 to 100; higher sums go first."),
  }),
});

export const scatterStrategy = s.optionalObjectList(
  "Pods with these labels are spread evenly over the update order.",
  "Pods with this label are spread.",
  { key: s.text("Label key."), value: s.text("Label value.") },
);

export function objectReference(description: string) {
  return s.object(
    description,
    {
      apiVersion: s.optional(s.text("API version of the object.")),
      fieldPath: s.optional(s.text("Part of the object that is meant.")),
      kind: s.optional(s.text("Kind of the object.")),
      name: s.optional(s.text("Name of the object.")),
      namespace: s.optional(s.text("Namespace of the object.")),
      resourceVersion: s.optional(s.text("Version of the object that is meant.")),
      uid: s.optional(s.text("UID of the object.")),
    },
    { atomic: true },
  );
}

/** Of statuses: which generation of the spec they speak of. */
export const observedGeneration = s.optional(s.int64("Generation that the status is about."));

/** Of statuses of kinds with revisions. */
export const collisionCount = s.optional(s.int32("Counter mixed into revision hashes when two collide."));

/** Of specs of workloads. */
export const revisionHistoryLimit = s.optional(
  s.int32("Revisions kept besides those in use; 10 by default."),
);

/** Of specs of workloads. */
export const templateSelector = s.labelSelector(
  "Labels that the template carries and that find the pods; cannot be changed.",
);

/** Of specs of workloads: the type and, for RollingUpdate, the settings that the kind has. */
export function updateStrategy<T extends s.TSchema>(rollingUpdate: T) {
  return s.object("How pods are brought to a new revision.", {
    rollingUpdate: s.optional(rollingUpdate),
    type: s.optional(s.text("RollingUpdate (default) or OnDelete.")),
  });
}

/** Of statuses of jobs. */
export const startTime = s.optional(s.dateTime("When the job began."));
export const completionTime = s.optional(s.dateTime("When the job ended."));

export function targetReference(description: string) {
  return s.object(description, {
    apiVersion: s.text("API version of the workload."),
    kind: s.text("Kind of the workload."),
    name: s.text("Name of the workload."),
  });
}

function nodeSelectorRequirements(description: string) {
  return s.objectList(
    description,
    "One condition on a node.",
    {
      key: s.text("Label or field of the node."),
      operator: s.text("In, NotIn, Exists, DoesNotExist, Gt or Lt."),
      values: s.optional(s.strings("Values for the operator.", { atomic: true })),
    },
    { atomic: true },
  );
}

export function nodeSelectorTerm(description: string) {
  return s.object(
    description,
    {
      matchExpressions: s.optional(nodeSelectorRequirements("Conditions on the node's labels.")),
      matchFields: s.optional(nodeSelectorRequirements("Conditions on the node's fields.")),
    },
    { atomic: true },
  );
}

export function tolerations(description: string) {
  return s.objectList(description, "One tolerated taint.", {
    effect: s.optional(s.text("Taint effect; empty for all.")),
    key: s.optional(s.text("Taint key; empty for all.")),
    operator: s.optional(s.text("Equal or Exists.")),
    tolerationSeconds: s.optional(s.int64("Seconds a NoExecute taint is tolerated.")),
    value: s.optional(s.text("Taint value.")),
  });
}

const exec = s.optionalObject("Run a command in the container.", {
  command: s.optional(s.strings("Command and arguments; no shell.", { atomic: true })),
});

const httpGet = s.optionalObject("Send an HTTP GET.", {
  host: s.optional(s.text("Host name; the pod's IP by default.")),
  httpHeaders: s.optionalObjectList(
    "Headers to send.",
    "One header.",
    { name: s.text("Header name."), value: s.text("Header value.") },
    {
      atomic: true,
    },
  ),
  path: s.optional(s.text("Path on the server.")),
  port: s.intOrString("Port number or name."),
  scheme: s.optional(s.text("HTTP or HTTPS.")),
});

const tcpSocket = s.optionalObject("Open a TCP connection.", {
  host: s.optional(s.text("Host name; the pod's IP by default.")),
  port: s.intOrString("Port number or name."),
});

/** What a container runs before it is stopped. */
export function preStopHook(description: string) {
  return s.object(description, {
    exec,
    httpGet,
    tcpSocket,
  });
}

export function probe(description: string) {
  return s.object(description, {
    exec,
    failureThreshold: s.optional(s.int32("Failures in a row until the probe counts as failed.")),
    grpc: s.optionalObject("Ask a gRPC health service.", {
      port: s.int32("Port of the gRPC health service."),
      service: s.optional(s.text("Service name in the request.", { default: "" })),
    }),
    httpGet,
    initialDelaySeconds: s.optional(s.int32("Seconds from the container's start to the first probe.")),
    periodSeconds: s.optional(s.int32("Seconds between probes.")),
    successThreshold: s.optional(s.int32("Successes in a row until the probe counts as passed.")),
    tcpSocket,
    terminationGracePeriodSeconds: s.optional(s.int64("Grace period when a failed probe ends the pod.")),
    timeoutSeconds: s.optional(s.int32("Seconds until one probe counts as failed.")),
  });
}

export function subsetScheduleStrategy<P extends s.TProperties>(adaptive: P) {
  return s.object("How pods are given to subsets.", {
    adaptive: s.optionalObject("Settings of the adaptive strategy.", adaptive),
    type: s.optional(
      s.choice("Whether pods move on from subsets that cannot take them.", ["Adaptive", "Fixed", ""]),
    ),
  });
}

export function timesByName(description: string) {
  return s.map(description, s.dateTime("When it was recorded."));
}

export const sandboxConfig = s.optionalObject(
  "Metadata that is handed to the container runtime with the pull.",
  {
    annotations: s.optional(s.stringMap("Annotations of the sandbox.")),
    labels: s.optional(s.stringMap("Labels of the sandbox.")),
  },
);

/** What ImagePullJob and ImageListPullJob have in common. */
export const imagePullSettings = {
  completionPolicy: s.object("When the job is done.", {
    activeDeadlineSeconds: s.optional(s.int64("Seconds after which the job ends.")),
    ttlSecondsAfterFinished: s.optional(s.int32("Seconds after which the finished job is deleted.")),
    type: s.optional(s.text("Always (default): the job ends; Never: it goes on with new nodes.")),
  }),
  imagePullPolicy: s.optional(s.text("IfNotPresent (default) or Always.")),
  parallelism: s.optional(s.intOrString("Nodes that pull at the same time; 1 by default.")),
  podSelector: s.optional(s.labelSelector("Pull on the nodes of these pods.")),
  pullPolicy: s.optionalObject("How one node pulls.", {
    backoffLimit: s.optional(s.int32("Attempts until the pull counts as failed; 3 by default.")),
    timeoutSeconds: s.optional(s.int32("Seconds after which one attempt is given up; 600 by default.")),
  }),
  pullSecrets: s.optional(s.strings("Secrets of the job's namespace with registry credentials.")),
  sandboxConfig,
  selector: s.optional(s.nodeNamesOrLabels("Nodes that pull; all by default.")),
};
