/** Pieces that several kinds share, so that a field means and reads the same everywhere. */
import * as s from "./dsl.ts";

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

/** Of statuses of jobs. */
export const startTime = s.optional(s.dateTime("When the controller began with the job."));
export const completionTime = s.optional(s.dateTime("When the job ended, completed or failed."));

export function targetReference(description: string) {
  return s.object(description, {
    apiVersion: s.text("Group and version of the workload, such as apps/v1. The version does not matter."),
    kind: s.text("Kind of the workload, such as Deployment."),
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
