/** SidecarSet. Spec: sidecarset 1 to 3. */

import { ageColumn, integerColumn } from "../columns.ts";
import { sidecars } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Volume } from "../pod_template.ts";
import { collisionCount, priorityStrategy, scatterStrategyOfEveryValue } from "../workload_fragments.ts";
import { convertSidecarSet } from "./convert.ts";

/** `what` is shared. */
function sharePolicy(what: string) {
  const words = `Whether the sidecar gets ${what} of the pod's own containers`;
  const values = "enabled, but for paths that it has itself, or disabled; disabled by default.";
  return s.object(`${words}.`, { type: s.optional(s.text(`${words}: ${values}`)) });
}

/** `which`: limits or requests. */
function expressions(which: string) {
  const words = (name: string, least: string): string =>
    `Expression with numbers, percentages, quantities such as ${least}, + - * / ( ), min(a,b), max(a,b), and ` +
    `${name} for the ${which} of the target containers: max(${name}*50%, ${least}). Without it nothing is set.`;
  return s.object(`What the ${which} of the sidecar are worked out from.`, {
    cpu: s.optional(s.text(words("cpu", "100m"))),
    memory: s.optional(s.text(words("memory", "64Mi"))),
  });
}

const transferEnv = s.object(
  "Variables that are copied from one container. A variable that the sidecar has itself " +
    "stays; one that the container lacks is left out.",
  {
    envName: s.optional(s.text("Name of a variable to copy.")),
    envNames: s.optional(s.strings("Names of further variables to copy.")),
    sourceContainerName: s.optional(s.text("Name of the pod's container to copy from.")),
    sourceContainerNameFrom: s.optionalObject("Where that name is found, instead of sourceContainerName.", {
      fieldRef: s.optionalObject(
        "Field of the pod that holds the name.",
        {
          apiVersion: s.optional(s.text("Version of the pod's schema; v1 by default.")),
          fieldPath: s.text(
            "A label or annotation of the pod, such as metadata.annotations['main-container'].",
          ),
        },
        { atomic: true },
      ),
    }),
  },
);

/** `place`: where it stands in a pod unless something else is said. */
function sidecar(place: string) {
  return s.container("One sidecar: a container of Kubernetes with these fields beside its own.", {
    podInjectPolicy: s.optional(
      s.text(
        `Place among the pod's own containers: BeforeAppContainer or AfterAppContainer; ${place} by default.`,
      ),
    ),
    resourcesPolicy: s.optionalObject(
      "Resources of the sidecar worked out from those of the pod's other containers, when the " +
        "pod is created. They replace resources. Of init containers only with restartPolicy Always.",
      {
        resourcesExpr: s.object(
          "Expressions that give the sidecar's resources; at least one of limits and requests.",
          {
            limits: s.optional(expressions("limits")),
            requests: s.optional(expressions("requests")),
          },
        ),
        targetContainersMode: s.choice(
          "What cpu and memory stand for where several containers are looked at: sum adds their " +
            "values up, max takes the highest.",
          ["sum", "max"],
        ),
        targetContainersNameRegex: s.optional(
          s.text(
            "Target containers: those of the pod's own whose name this regular expression finds; .* " +
              "by default. A pod in which it finds none is refused.",
            { default: ".*" },
          ),
        ),
      },
    ),
    shareVolumeDevicePolicy: s.optional(sharePolicy("the volume devices")),
    shareVolumePolicy: s.optional(sharePolicy("the volume mounts")),
    transferEnv: s.optional(s.list("Variables copied from the pod's containers.", transferEnv)),
    upgradeStrategy: s.optionalObject("How the sidecar is updated in a running pod.", {
      hotUpgradeEmptyImage: s.optional(
        s.text("Image of the one of the two containers that is idle; needed with HotUpgrade."),
      ),
      upgradeType: s.optional(
        s.text(
          "ColdUpgrade (the default): the container restarts with the new image. HotUpgrade: the " +
            "pod gets two containers, name-1 and name-2; the idle one starts with the new image, and " +
            "the other becomes idle when it is ready. It cannot be changed.",
        ),
      ),
    }),
  });
}

const common = {
  containers: s.optional(
    s.list(
      "Sidecars that matching pods get when they are created. Changed images are updated in " +
        "running pods, other changes reach new pods only.",
      sidecar("BeforeAppContainer"),
    ),
  ),
  imagePullSecrets: s.optional(
    s.list(
      "Secrets with registry credentials that pods get beside their own, from their own namespace.",
      s.object(
        "One Secret.",
        { name: s.optional(s.text("Name of the Secret; empty by default.", { default: "" })) },
        { atomic: true },
      ),
    ),
  ),
  initContainers: s.optional(
    s.list(
      "Init containers that matching pods get when they are created; with restartPolicy Always " +
        "they run beside the pod's containers, which needs updateStrategy.type NotUpdate.",
      sidecar("AfterAppContainer"),
    ),
  ),
  injectionStrategy: s.optionalObject("How new pods are treated.", {
    paused: s.optional(s.flag("New pods get no sidecars; false by default.")),
    revision: s.optionalObject(
      "Revision of the set that new pods get instead of the present one, by revisionName or " +
        "customVersion. While it does not exist new pods are refused.",
      {
        customVersion: s.optional(
          s.text("Version that the revision was given; of several revisions the newest."),
        ),
        policy: s.optional(
          s.choice(
            "Always (the default): all new pods get the revision. Partial: those do that " +
              "updateStrategy.selector leaves out and, of the others, the share that a partition in " +
              "percent keeps.",
            ["Always", "Partial"],
            {
              default: "Always",
            },
          ),
        ),
        revisionName: s.optional(s.text("Name of the ControllerRevision, which comes before customVersion.")),
      },
    ),
  }),
  namespaceSelector: s.optional(
    s.labelSelector(
      "Namespaces whose pods get the sidecars, by their labels; not empty. All namespaces by default.",
    ),
  ),
  patchPodMetadata: s.optionalObjectList(
    "Annotations that pods get when they are created, and again when their sidecars are " +
      "updated. The whitelist of the installation must allow them.",
    "One patch.",
    {
      annotations: s.optional(s.stringMap("Keys and values of the annotations.")),
      patchPolicy: s.optional(
        s.text(
          "What happens to an annotation that the pod has. Retain (the default): it stays. " +
            "Overwrite: it is replaced. MergePatchJson: both values are JSON and are merged; other " +
            "text is refused.",
        ),
      ),
    },
  ),
  revisionHistoryLimit: s.optional(
    s.int32("Number of revisions that are kept in all, at least 1; 10 by default."),
  ),
  selector: s.optional(
    s.labelSelector(
      "Pods that get the sidecars, by their labels; not empty. Pods that were there before the set get none.",
    ),
  ),
  updateStrategy: s.optionalObject("How running pods are brought to a new revision.", {
    maxUnavailable: s.optional(
      s.intOrString(
        "Most pods that may be unavailable during an update: a number, or a percentage of the " +
          "matching pods rounded up; 1 by default.",
      ),
    ),
    partition: s.optional(
      s.intOrString(
        "Pods that keep the old sidecars: a number, or a percentage of the matching pods rounded " +
          "up; 0 by default. A percentage below 100% lets at least one of several pods be updated. " +
          "Not together with selector.",
      ),
    ),
    paused: s.optional(s.flag("Update no further pods; new pods still get sidecars. The default is false.")),
    priorityStrategy,
    scatterStrategy: scatterStrategyOfEveryValue,
    selector: s.optional(
      s.labelSelector("Pods that are updated, by their labels; all matching pods by default."),
    ),
    type: s.optional(
      s.text(
        "RollingUpdate (the default): changed images are updated in running pods. NotUpdate: only " +
          "new pods get them.",
      ),
    ),
  }),
  volumes: s.optional(
    s.preserve<Volume[]>(
      "Volumes that the sidecars mount, as in a pod. A pod gets those that its sidecars name; " +
        "its own volume of a name stays.",
    ),
  ),
};

const specV1alpha1 = s.specOf({
  ...common,
  namespace: s.optional(
    s.text(
      "The one namespace whose pods get the sidecars; all by default. Not together with namespaceSelector.",
    ),
  ),
});

const spec = s.specOf({
  ...common,
  customVersion: s.optional(
    s.text("Name for the present revision, which injectionStrategy.revision can use; none by default."),
  ),
});

const status = s.statusOf({
  collisionCount,
  latestRevision: s.optional(s.text("Name of the ControllerRevision of the present spec.")),
  matchedPods: s.int32("Number of pods that match the selector and have the sidecars."),
  observedGeneration,
  readyPods: s.int32("Number of matching pods that are ready and run the sidecars of their spec."),
  updatedPods: s.int32("Number of matching pods with the present sidecars."),
  updatedReadyPods: s.optional(s.int32("Number of matching pods that are updated and ready.")),
});

export type SidecarContainer = s.Static<ReturnType<typeof sidecar>>;
export type SidecarSetSpec = s.Static<typeof spec>;
export type SidecarSetStatus = s.Static<typeof status>;
export type SidecarSet = KindObject<SidecarSetSpec, SidecarSetStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("MATCHED", ".status.matchedPods", "Pods that match."),
  integerColumn("UPDATED", ".status.updatedPods", "Those at the latest revision."),
  integerColumn("READY", ".status.readyPods", "Those that are ready."),
  ageColumn,
];

export const sidecarSet = defineKind({
  kind: "SidecarSet",
  plural: "sidecarsets",
  scope: "Cluster",
  description: "Adds containers to matching pods when they are created and updates them in place.",
  conversion: convertSidecarSet,
  corePlaces: sidecars,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});
