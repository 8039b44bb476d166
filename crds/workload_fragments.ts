/** Pieces that kinds with pods of their own share: hooks, updates, revisions. */
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
  "changed in place where only images, labels or annotations differ (with feature gate " +
  "InPlaceWorkloadVerticalScaling also resources), else made anew. InPlaceOnly: a change " +
  "that is not possible in place is refused or fails.";

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
