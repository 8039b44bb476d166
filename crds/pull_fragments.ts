/** What kinds share that pull images. */
import * as s from "./dsl.ts";

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
