/** Pieces that several kinds share, so that a field means and reads the same everywhere. */
import * as s from "./dsl.ts";

function hook(description: string) {
  return s.object(description, {
    finalizersHandler: s.optional(s.strings("Finalizers that the hook looks for on the pod.")),
    labelsHandler: s.optional(
      s.stringMap("Labels that the hook looks for on the pod, each with exactly this value."),
    ),
    markPodNotReady: s.optional(
      s.flag(
        "Make the pod not ready, and so take it out of its Services, while it waits for its " +
          "deletion or update; false by default.",
      ),
    ),
  });
}

const preDelete = s.optional(
  hook(
    "Hold a pod before the controller deletes it: it stays in the state PreparingDelete for " +
      "as long as any of the labels or finalizers is on it.",
  ),
);

function lifecycleOf(inPlaceUpdate: string, preNormal: string) {
  return s.optionalObject(
    "Points at which a pod waits for other controllers. The state is in the pod's label " +
      "lifecycle.apps.kruise.io/state.",
    {
      inPlaceUpdate: s.optional(hook(inPlaceUpdate)),
      preDelete,
      preNormal: s.optional(hook(preNormal)),
    },
  );
}

export const lifecycle = lifecycleOf(
  "Hold a pod around an update in place: before it in the state PreparingUpdate, for as " +
    "long as any of the labels or finalizers is on the pod; after it in the state Updated, " +
    "until all of them are on it again.",
  "Hold a new pod in the state PreparingNormal, in which it does not count as available, " +
    "until all of the labels and finalizers are on it.",
);

/** Of daemon sets, which know one of the three points. */
export const deletionLifecycle = lifecycleOf(
  "Refused by admission: daemon sets do not hold pods around an update.",
  "Accepted and without effect: daemon sets do not hold new pods.",
);

const gracePeriodSeconds = s.optional(
  s.int32(
    "Seconds for which a pod is not ready before its spec is changed, so that traffic moves " +
      "away first; 0 by default.",
  ),
);

const inPlaceWords = "How an update in place is carried out.";

const parallelismWords =
  "Number of nodes that pull the new image at the same time before its pods are updated; 1 " +
  "by default. A percentage is refused. Needs feature gate " +
  "PreDownloadImageForInPlaceUpdate.";

export const inPlaceUpdateStrategy = s.optionalObject(inPlaceWords, {
  gracePeriodSeconds,
  imagePreDownloadMinUpdatedReadyPods: s.optional(
    s.int32(
      "Number of updated pods that must be ready before the new image is pulled on the nodes of " +
        "the others; 0 by default.",
    ),
  ),
  imagePreDownloadParallelism: s.optional(s.intOrString(parallelismWords)),
  imagePreDownloadTimeoutSeconds: s.optional(
    s.int32("Seconds after which one attempt to pull the new image ahead is given up; 300 by default."),
  ),
});

const annotated = (ending: string): string =>
  `Without effect here: the annotation apps.kruise.io/image-predownload-${ending} of the object says it.`;

/** Of kinds and versions in which annotations say how images are pulled ahead. */
export const annotatedInPlaceUpdateStrategy = s.optionalObject(inPlaceWords, {
  gracePeriodSeconds,
  imagePreDownloadMinUpdatedReadyPods: s.optional(s.int32(annotated("min-updated-ready-pods"))),
  imagePreDownloadParallelism: s.optional(s.intOrString(annotated("parallelism"))),
  imagePreDownloadTimeoutSeconds: s.optional(s.int32(annotated("timeout-seconds"))),
});

export const priorityStrategy = s.optionalObject(
  "Which pods are updated first. Either orderPriority or weightPriority, not both.",
  {
    orderPriority: s.optionalObjectList(
      "Order by labels: pods without any of the keys first, then by the first key of the list " +
        "that a pod has, then by the number at the end of its value.",
      "One key.",
      {
        orderedKey: s.text(
          "Label key. Of pods that have it, the one with the higher number at the end of the value " +
            "goes first, as 10 in web-10; a value without a number counts as 0.",
        ),
      },
    ),
    weightPriority: s.optionalObjectList(
      "Order by weight: the pod with the higher sum over all terms that match it goes first.",
      "One term.",
      {
        matchSelector: s.labelSelector("Labels of the pods that get the weight; not empty."),
        weight: s.int32("Weight of a pod that matches, 0 to 100."),
      },
    ),
  },
);

function scatterStrategyOf(value: string) {
  return s.optionalObjectList(
    "Spread pods with these labels evenly over the order of the update, so that they are not " +
      "updated all at once. It comes after the priority.",
    "One label; pods that have it with this value are spread.",
    { key: s.text("Label key."), value: s.text(value) },
  );
}

export const scatterStrategy = scatterStrategyOf("Label value.");

/** Of sidecar sets. */
export const scatterStrategyOfEveryValue = scatterStrategyOf(
  "Label value; * stands for each value that pods have, one after the other.",
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
export const observedGeneration = s.optional(
  s.int64("Value of metadata.generation that the status is about; lower while a change is not acted on yet."),
);

/** Of statuses of kinds with revisions. */
export const collisionCount = s.optional(
  s.int32(
    "Number that is mixed into the hashes of revisions; it grows when two different ones have the same hash.",
  ),
);

/** Of statuses of kinds with revisions. */
export const currentRevision = s.optional(
  s.text(
    "Name of the ControllerRevision that pods are updated from; that of updateRevision after a rollout.",
  ),
);
export const updateRevision = s.optional(
  s.text("Name of the ControllerRevision of the present template, which pods are updated to."),
);

/** Of statuses of kinds that can be scaled. */
export const labelSelectorText = s.optional(
  s.text("The selector as text, which autoscalers read through the scale subresource."),
);

/** Of specs of workloads. */
export const wantedReplicas = s.optional(s.int32("Number of pods that are wanted, 0 or more; 1 by default."));
export const revisionHistoryLimit = s.optional(
  s.int32(
    "Number of old revisions that are kept for going back, beside those that pods still have; 10 by default.",
  ),
);
export const minReadySeconds = s.optional(
  s.int32("Seconds for which a new pod must be ready before it counts as available; 0 by default."),
);

/** Of specs of workloads. */
export const templateSelector = s.labelSelector(
  "Pods of the workload, by their labels. The template must carry these labels. It cannot " +
    "be changed and not be empty.",
);

/** Of specs of workloads with a policy of updates in place. */
export const podUpdatePolicyWords =
  "ReCreate (the default): a pod is deleted and made anew. InPlaceIfPossible: a pod is " +
  "changed in place where the change allows it, as one of images, labels or annotations " +
  "does, else made anew. InPlaceOnly: a change that is not possible in place is refused or " +
  "fails.";

/** Of specs of workloads: the type and, for RollingUpdate, the settings that the kind has. */
export function updateStrategy<T extends s.TSchema>(rollingUpdate: T) {
  return s.object("How pods are brought to a new revision.", {
    rollingUpdate: s.optional(rollingUpdate),
    type: s.optional(
      s.text(
        "RollingUpdate (the default): the controller updates pods. OnDelete: a pod gets the new " +
          "revision when somebody deletes it; rollingUpdate must then be left out.",
      ),
    ),
  });
}

/** Of statuses of jobs. */
export const startTime = s.optional(s.dateTime("When the controller began with the job."));
export const completionTime = s.optional(s.dateTime("When the job ended, completed or failed."));

export function targetReference(description: string) {
  return s.object(description, {
    apiVersion: s.text("Group and version of the workload, as apps/v1. The version does not matter."),
    kind: s.text("Kind of the workload, as Deployment."),
    name: s.text("Name of the workload, in the namespace of this object."),
  });
}

function nodeSelectorRequirements(description: string) {
  return s.objectList(
    description,
    "One condition on a node.",
    {
      key: s.text("Key of the label, or name of the field."),
      operator: s.text("In, NotIn, Exists, DoesNotExist, Gt or Lt."),
      values: s.optional(
        s.strings(
          "Values to compare with: at least one for In and NotIn, none for Exists and DoesNotExist, " +
            "one integer for Gt and Lt.",
          { atomic: true },
        ),
      ),
    },
    { atomic: true },
  );
}

/** `fields`: what is said of conditions on fields. */
export function nodeSelectorTerm(
  description: string,
  fields = "Conditions on the node's fields, of which metadata.name is the only one.",
) {
  return s.object(
    description,
    {
      matchExpressions: s.optional(
        nodeSelectorRequirements("Conditions on the node's labels, which all must hold."),
      ),
      matchFields: s.optional(nodeSelectorRequirements(fields)),
    },
    { atomic: true },
  );
}

export function tolerations(description: string) {
  return s.objectList(description, "One tolerated taint.", {
    effect: s.optional(s.text("NoSchedule, PreferNoSchedule or NoExecute; without it, all of them.")),
    key: s.optional(s.text("Key of the taint; without it, and with operator Exists, all taints.")),
    operator: s.optional(s.text("Equal (the default): key and value are the taint's. Exists: the key is.")),
    tolerationSeconds: s.optional(
      s.int64("Seconds for which a NoExecute taint is tolerated; without it, for good."),
    ),
    value: s.optional(s.text("Value of the taint; left out with operator Exists.")),
  });
}

/** What a probe or hook does. */
function handlers(host: string, scheme: string) {
  const port = s.intOrString("Number of the port, 1 to 65535, or its name in the container.");
  const header = { name: s.text("Header name."), value: s.text("Header value.") };
  return {
    exec: s.optionalObject("Run a command in the container; exit code 0 is success.", {
      command: s.optional(
        s.strings("Command and its arguments. No shell reads it: for one, name it as the command.", {
          atomic: true,
        }),
      ),
    }),
    httpGet: s.optionalObject("Send an HTTP GET; a status from 200 to 399 is success.", {
      host: s.optional(s.text(host)),
      httpHeaders: s.optionalObjectList("Headers of the request.", "One header.", header, { atomic: true }),
      path: s.optional(s.text("Path on the server.")),
      port,
      scheme: s.optional(s.text(scheme)),
    }),
    tcpSocket: s.optionalObject("Open a TCP connection; that it opens is success.", {
      host: s.optional(s.text(host)),
      port,
    }),
  };
}

/** What a container runs before it is stopped. */
export function preStopHook(description: string) {
  return s.object(
    description,
    handlers("Name or address of the server; the pod's address by default.", "HTTP (the default) or HTTPS."),
  );
}

export function probe(description: string) {
  const { exec, httpGet, tcpSocket } = handlers(
    "Refused by admission: the pod's own address is asked.",
    "HTTP or HTTPS, to be named; the certificate is not verified.",
  );
  return s.object(description, {
    exec,
    failureThreshold: s.optional(
      s.int32("Number of failures in a row until the result is Failed; 1 by default."),
    ),
    grpc: s.optionalObject(
      "Not carried out: gRPC services are not asked, and a probe with nothing else is refused.",
      {
        port: s.int32("Number of the port, 1 to 65535."),
        service: s.optional(s.text("Name of the service in the request; empty by default.", { default: "" })),
      },
    ),
    httpGet,
    initialDelaySeconds: s.optional(
      s.int32("Seconds from the start of the container to the first probe; 1 by default."),
    ),
    periodSeconds: s.optional(s.int32("Seconds from one probe to the next; 1 by default.")),
    successThreshold: s.optional(
      s.int32("Number of successes in a row until the result is Succeeded; 1 by default."),
    ),
    tcpSocket,
    terminationGracePeriodSeconds: s.optional(
      s.int64("Without effect here: no pod is ended because of this probe."),
    ),
    timeoutSeconds: s.optional(s.int32("Seconds until one probe counts as failed; 1 by default.")),
  });
}

export function subsetScheduleStrategy<P extends s.TProperties>(adaptive: P) {
  return s.object("How pods are given to subsets.", {
    adaptive: s.optionalObject("Settings of the type Adaptive.", adaptive),
    type: s.optional(
      s.choice(
        "Fixed (the default): pods stay in their subset, also while no node there takes them. " +
          "Adaptive: pods that find no node go to other subsets.",
        ["Adaptive", "Fixed", ""],
      ),
    ),
  });
}

export function timesByName(description: string) {
  return s.map(description, s.dateTime("When it was recorded."));
}

export const sandboxConfig = s.optionalObject(
  "What the container runtime is told about the pod that the image is for.",
  {
    annotations: s.optional(s.stringMap("Annotations of the sandbox that goes with the pull.")),
    labels: s.optional(s.stringMap("Labels of the sandbox that goes with the pull.")),
  },
);

/** What ImagePullJob and ImageListPullJob have in common. */
export const imagePullSettings = {
  completionPolicy: s.object("When the job is done, and what becomes of it.", {
    activeDeadlineSeconds: s.optional(
      s.int64(
        "Seconds from the start of the job after which it ends, with the nodes that are not done " +
          "counted as failed; without it there is no limit. With type Always only, and not less " +
          "than pullPolicy.timeoutSeconds.",
      ),
    ),
    ttlSecondsAfterFinished: s.optional(
      s.int32(
        "Seconds after its end until the job is deleted, 0 for at once; without it the job stays. " +
          "With type Always only.",
      ),
    ),
    type: s.optional(
      s.text(
        "Always (the default): the job ends when every node has succeeded or failed. Never: it " +
          "does not end, pulls about once a day, and follows nodes that join.",
      ),
    ),
  }),
  imagePullPolicy: s.optional(
    s.text(
      "IfNotPresent (the default): a node that has the image does not pull it. Always: every " +
        "node asks the registry.",
    ),
  ),
  parallelism: s.optional(
    s.intOrString(
      "Number of nodes that pull at the same time, also as text; 1 by default, 0 holds the job. " +
        "A percentage is refused.",
    ),
  ),
  podSelector: s.optional(
    s.labelSelector(
      "Pull on the nodes of the pods with these labels in the job's namespace. Not together with selector.",
    ),
  ),
  pullPolicy: s.optionalObject("How one node pulls.", {
    backoffLimit: s.optional(s.int32("Number of further attempts after one that failed; 3 by default.")),
    timeoutSeconds: s.optional(s.int32("Seconds after which one attempt is given up; 600 by default.")),
  }),
  pullSecrets: s.optional(s.strings("Names of Secrets with registry credentials, in the job's namespace.")),
  sandboxConfig,
  selector: s.optional(
    s.nodeNamesOrLabels(
      "Nodes that pull, by names or by labels, not by both. Without it and without podSelector, all nodes.",
    ),
  ),
};
