/** Pieces that several kinds share, so that a field means and reads the same everywhere. */
import {
  choice,
  dateTime,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  map,
  nodeNamesOrLabels,
  object,
  optional,
  stringMap,
  strings,
  text,
} from "./dsl.ts";

function hook(description: string) {
  return object(
    {
      finalizersHandler: optional(strings("Finalizers that hold the pod in this state while present.")),
      labelsHandler: optional(stringMap("Labels that hold the pod in this state while present.")),
      markPodNotReady: optional(flag("Take the pod out of its endpoints while it is held.")),
    },
    description,
  );
}

export function lifecycle() {
  return object(
    {
      inPlaceUpdate: optional(hook("Held before and after an in-place update.")),
      preDelete: optional(hook("Held before deletion.")),
      preNormal: optional(hook("Held after creation, until the pod counts as normal.")),
    },
    "Hooks at which other controllers may hold a pod.",
  );
}

export function inPlaceUpdateStrategy() {
  return object(
    {
      gracePeriodSeconds: optional(int32("Seconds a pod is not ready before its spec is changed.")),
      imagePreDownloadMinUpdatedReadyPods: optional(
        int32("Updated pods that must be ready before the new image is pulled ahead on the other nodes."),
      ),
      imagePreDownloadParallelism: optional(intOrString("Nodes that pull the new image at the same time.")),
      imagePreDownloadTimeoutSeconds: optional(int32("Seconds after which one pull is given up.")),
    },
    "How an update in place is carried out.",
  );
}

export function priorityStrategy() {
  return object(
    {
      orderPriority: optional(
        list(
          object(
            { orderedKey: text("Label whose value ends in the order number; higher goes first.") },
            "One order key.",
          ),
          "Order by the number at the end of a label's value.",
        ),
      ),
      weightPriority: optional(
        list(
          object(
            {
              matchSelector: labelSelector("Pods that get the weight."),
              weight: int32("0 to 100; higher sums go first."),
            },
            "One weight.",
          ),
          "Order by the sum of the weights of matching terms.",
        ),
      ),
    },
    "Which pods are updated first; one of the two forms.",
  );
}

export function scatterStrategy() {
  return list(
    object({ key: text("Label key."), value: text("Label value.") }, "Pods with this label are spread."),
    "Pods with these labels are spread evenly over the update order.",
  );
}

export function objectReference(description: string) {
  return object(
    {
      apiVersion: optional(text("API version of the object.")),
      fieldPath: optional(text("Part of the object that is meant.")),
      kind: optional(text("Kind of the object.")),
      name: optional(text("Name of the object.")),
      namespace: optional(text("Namespace of the object.")),
      resourceVersion: optional(text("Version of the object that is meant.")),
      uid: optional(text("UID of the object.")),
    },
    description,
    { atomic: true },
  );
}

export function targetReference(description: string) {
  return object(
    {
      apiVersion: text("API version of the workload."),
      kind: text("Kind of the workload."),
      name: text("Name of the workload."),
    },
    description,
  );
}

function nodeSelectorRequirements(description: string) {
  return list(
    object(
      {
        key: text("Label or field of the node."),
        operator: text("In, NotIn, Exists, DoesNotExist, Gt or Lt."),
        values: optional(strings("Values for the operator.", { atomic: true })),
      },
      "One condition on a node.",
    ),
    description,
    { atomic: true },
  );
}

export function nodeSelectorTerm(description: string) {
  return object(
    {
      matchExpressions: optional(nodeSelectorRequirements("Conditions on the node's labels.")),
      matchFields: optional(nodeSelectorRequirements("Conditions on the node's fields.")),
    },
    description,
    { atomic: true },
  );
}

export function tolerations(description: string) {
  return list(
    object(
      {
        effect: optional(text("Taint effect; empty for all.")),
        key: optional(text("Taint key; empty for all.")),
        operator: optional(text("Equal or Exists.")),
        tolerationSeconds: optional(int64("Seconds a NoExecute taint is tolerated.")),
        value: optional(text("Taint value.")),
      },
      "One tolerated taint.",
    ),
    description,
  );
}

function execAction() {
  return object(
    { command: optional(strings("Command and arguments; no shell.", { atomic: true })) },
    "Run a command in the container.",
  );
}

function httpGetAction() {
  return object(
    {
      host: optional(text("Host name; the pod's IP by default.")),
      httpHeaders: optional(
        list(
          object({ name: text("Header name."), value: text("Header value.") }, "One header."),
          "Headers to send.",
          {
            atomic: true,
          },
        ),
      ),
      path: optional(text("Path on the server.")),
      port: intOrString("Port number or name."),
      scheme: optional(text("HTTP or HTTPS.")),
    },
    "Send an HTTP GET.",
  );
}

function tcpSocketAction() {
  return object(
    {
      host: optional(text("Host name; the pod's IP by default.")),
      port: intOrString("Port number or name."),
    },
    "Open a TCP connection.",
  );
}

/** What a container runs before it is stopped. */
export function preStopHook(description: string) {
  return object(
    {
      exec: optional(execAction()),
      httpGet: optional(httpGetAction()),
      tcpSocket: optional(tcpSocketAction()),
    },
    description,
  );
}

export function probe(description: string) {
  return object(
    {
      exec: optional(execAction()),
      failureThreshold: optional(int32("Failures in a row until the probe counts as failed.")),
      grpc: optional(
        object(
          {
            port: int32("Port of the gRPC health service."),
            service: optional(text("Service name in the request.", { default: "" })),
          },
          "Ask a gRPC health service.",
        ),
      ),
      httpGet: optional(httpGetAction()),
      initialDelaySeconds: optional(int32("Seconds from the container's start to the first probe.")),
      periodSeconds: optional(int32("Seconds between probes.")),
      successThreshold: optional(int32("Successes in a row until the probe counts as passed.")),
      tcpSocket: optional(tcpSocketAction()),
      terminationGracePeriodSeconds: optional(int64("Grace period when a failed probe ends the pod.")),
      timeoutSeconds: optional(int32("Seconds until one probe counts as failed.")),
    },
    description,
  );
}

export function subsetScheduleStrategy<P extends Parameters<typeof object>[0]>(adaptive: P) {
  return object(
    {
      adaptive: optional(object(adaptive, "Settings of the adaptive strategy.")),
      type: optional(
        choice(["Adaptive", "Fixed", ""], "Whether pods move on from subsets that cannot take them."),
      ),
    },
    "How pods are given to subsets.",
  );
}

export function timesByName(description: string) {
  return map(dateTime("When it was recorded."), description);
}

/** What ImagePullJob and ImageListPullJob have in common. */
export function imagePullSettings() {
  return {
    completionPolicy: object(
      {
        activeDeadlineSeconds: optional(int64("Seconds after which the job ends.")),
        ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
        type: optional(text("Always (default): the job ends; Never: it goes on with new nodes.")),
      },
      "When the job is done.",
    ),
    imagePullPolicy: optional(text("IfNotPresent (default) or Always.")),
    parallelism: optional(intOrString("Nodes that pull at the same time; 1 by default.")),
    podSelector: optional(labelSelector("Pull on the nodes of these pods.")),
    pullPolicy: optional(
      object(
        {
          backoffLimit: optional(int32("Attempts until the pull counts as failed; 3 by default.")),
          timeoutSeconds: optional(int32("Seconds after which one attempt is given up; 600 by default.")),
        },
        "How one node pulls.",
      ),
    ),
    pullSecrets: optional(strings("Secrets of the job's namespace with registry credentials.")),
    sandboxConfig: optional(sandboxConfig()),
    selector: optional(nodeNamesOrLabels("Nodes that pull; all by default.")),
  };
}

export function sandboxConfig() {
  return object(
    {
      annotations: optional(stringMap("Annotations of the sandbox.")),
      labels: optional(stringMap("Labels of the sandbox.")),
    },
    "Metadata that is handed to the container runtime with the pull.",
  );
}
