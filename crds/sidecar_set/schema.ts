/** SidecarSet. Spec: sidecarset 1 to 3. */

import { ageColumn, integerColumn } from "../columns.ts";
import { sidecars } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  container,
  flag,
  int32,
  intOrString,
  labelSelector,
  list,
  object,
  objectList,
  optional,
  preserve,
  type Static,
  specOf,
  statusOf,
  stringMap,
  strings,
  text,
} from "../dsl.ts";
import { collisionCount, observedGeneration, priorityStrategy, scatterStrategy } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { Volume } from "../pod_template.ts";
import { convertSidecarSet } from "./convert.ts";

function sharePolicy(description: string) {
  return object(description, { type: optional(text("enabled or disabled (default).")) });
}

function expressions(description: string) {
  return object(description, {
    cpu: optional(text("Expression over the CPU of the target containers.")),
    memory: optional(text("Expression over the memory of the target containers.")),
  });
}

const transferEnv = object("Variables of one container.", {
  envName: optional(text("Variable to copy.")),
  envNames: optional(strings("Further variables to copy.")),
  sourceContainerName: optional(text("Container of the pod to copy from.")),
  sourceContainerNameFrom: optional(
    object("Where the container's name is found.", {
      fieldRef: optional(
        object(
          "Field of the pod that holds the name.",
          {
            apiVersion: optional(text("Version of the pod's schema.")),
            fieldPath: text("Label or annotation of the pod."),
          },
          { atomic: true },
        ),
      ),
    }),
  ),
});

const sidecar = container("One sidecar.", {
  podInjectPolicy: optional(text("BeforeAppContainer or AfterAppContainer.")),
  resourcesPolicy: optional(
    object("Resources in relation to those of the pod's other containers.", {
      resourcesExpr: object("Expressions that give the sidecar's resources.", {
        limits: optional(expressions("Limits.")),
        requests: optional(expressions("Requests.")),
      }),
      targetContainersMode: choice("How the resources of several containers are combined.", ["sum", "max"]),
      targetContainersNameRegex: optional(text("Containers that count, by name.", { default: ".*" })),
    }),
  ),
  shareVolumeDevicePolicy: optional(sharePolicy("Whether the pod's volume devices are shared.")),
  shareVolumePolicy: optional(sharePolicy("Whether the pod's volume mounts are shared.")),
  transferEnv: optional(list("Variables copied from the pod's containers.", transferEnv)),
  upgradeStrategy: optional(
    object("How the sidecar is updated.", {
      hotUpgradeEmptyImage: optional(text("Image of the idle one of the two containers.")),
      upgradeType: optional(text("ColdUpgrade (default) or HotUpgrade.")),
    }),
  ),
});

const common = {
  containers: optional(list("Sidecars to add.", sidecar)),
  imagePullSecrets: optional(
    list(
      "Secrets with registry credentials, added to the pod.",
      object("One Secret.", { name: optional(text("Name.", { default: "" })) }, { atomic: true }),
    ),
  ),
  initContainers: optional(list("Init containers to add.", sidecar)),
  injectionStrategy: optional(
    object("How new pods are treated.", {
      paused: optional(flag("Leave new pods alone.")),
      revision: optional(
        object("Revision that new pods get.", {
          customVersion: optional(text("Revision by its version label.")),
          policy: optional(
            choice("Whether all new pods get the revision.", ["Always", "Partial"], {
              default: "Always",
            }),
          ),
          revisionName: optional(text("Revision by name.")),
        }),
      ),
    }),
  ),
  namespaceSelector: optional(labelSelector("Namespaces of the pods; all by default.")),
  patchPodMetadata: optional(
    objectList("Annotations added to the pod.", "One patch.", {
      annotations: optional(stringMap("Annotations.")),
      patchPolicy: optional(text("Retain (default), Overwrite or MergePatchJson.")),
    }),
  ),
  revisionHistoryLimit: optional(int32("Revisions that are kept; 10 by default.")),
  selector: optional(labelSelector("Pods that get the sidecars.")),
  updateStrategy: optional(
    object("How running pods are brought to a new revision.", {
      maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
      partition: optional(intOrString("Pods that stay at the old revision; 0 by default.")),
      paused: optional(flag("Hold the update.")),
      priorityStrategy: optional(priorityStrategy()),
      scatterStrategy: optional(scatterStrategy()),
      selector: optional(labelSelector("Pods that are updated; all by default.")),
      type: optional(text("RollingUpdate (default) or NotUpdate.")),
    }),
  ),
  volumes: optional(preserve<Volume[]>("Volumes that the sidecars mount.")),
};

const specV1alpha1 = specOf({ ...common, namespace: optional(text("The one namespace of the pods.")) });

const spec = specOf({
  ...common,
  customVersion: optional(text("Version by which the revision can be named.")),
});

const status = statusOf({
  collisionCount,
  latestRevision: optional(text("Revision of the present spec.")),
  matchedPods: int32("Pods that match."),
  observedGeneration,
  readyPods: int32("Those that are ready."),
  updatedPods: int32("Those at the latest revision."),
  updatedReadyPods: optional(int32("Those that are both.")),
});

export type SidecarContainer = Static<typeof sidecar>;
export type SidecarSetSpec = Static<typeof spec>;
export type SidecarSetStatus = Static<typeof status>;
export type SidecarSet = KindObject<SidecarSetSpec, SidecarSetStatus>;
export type SidecarSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, SidecarSetStatus>;

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

export type DecodedSidecarSet = Decoded<typeof sidecarSet>;
