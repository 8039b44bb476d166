/** SidecarSet. Spec: sidecarset 1 to 3. */

import { ageColumn, integerColumn } from "../columns.ts";
import { sidecars } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { collisionCount, observedGeneration, priorityStrategy, scatterStrategy } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Volume } from "../pod_template.ts";
import { convertSidecarSet } from "./convert.ts";

function sharePolicy(description: string) {
  return s.object(description, { type: s.optional(s.text("enabled or disabled (default).")) });
}

function expressions(description: string) {
  return s.object(description, {
    cpu: s.optional(s.text("Expression over the CPU of the target containers.")),
    memory: s.optional(s.text("Expression over the memory of the target containers.")),
  });
}

const transferEnv = s.object("Variables of one container.", {
  envName: s.optional(s.text("Variable to copy.")),
  envNames: s.optional(s.strings("Further variables to copy.")),
  sourceContainerName: s.optional(s.text("Container of the pod to copy from.")),
  sourceContainerNameFrom: s.optionalObject("Where the container's name is found.", {
    fieldRef: s.optionalObject(
      "Field of the pod that holds the name.",
      {
        apiVersion: s.optional(s.text("Version of the pod's schema.")),
        fieldPath: s.text("Label or annotation of the pod."),
      },
      { atomic: true },
    ),
  }),
});

const sidecar = s.container("One sidecar.", {
  podInjectPolicy: s.optional(s.text("BeforeAppContainer or AfterAppContainer.")),
  resourcesPolicy: s.optionalObject("Resources in relation to those of the pod's other containers.", {
    resourcesExpr: s.object("Expressions that give the sidecar's resources.", {
      limits: s.optional(expressions("Limits.")),
      requests: s.optional(expressions("Requests.")),
    }),
    targetContainersMode: s.choice("How the resources of several containers are combined.", ["sum", "max"]),
    targetContainersNameRegex: s.optional(s.text("Containers that count, by name.", { default: ".*" })),
  }),
  shareVolumeDevicePolicy: s.optional(sharePolicy("Whether the pod's volume devices are shared.")),
  shareVolumePolicy: s.optional(sharePolicy("Whether the pod's volume mounts are shared.")),
  transferEnv: s.optional(s.list("Variables copied from the pod's containers.", transferEnv)),
  upgradeStrategy: s.optionalObject("How the sidecar is updated.", {
    hotUpgradeEmptyImage: s.optional(s.text("Image of the idle one of the two containers.")),
    upgradeType: s.optional(s.text("ColdUpgrade (default) or HotUpgrade.")),
  }),
});

const common = {
  containers: s.optional(s.list("Sidecars to add.", sidecar)),
  imagePullSecrets: s.optional(
    s.list(
      "Secrets with registry credentials, added to the pod.",
      s.object("One Secret.", { name: s.optional(s.text("Name.", { default: "" })) }, { atomic: true }),
    ),
  ),
  initContainers: s.optional(s.list("Init containers to add.", sidecar)),
  injectionStrategy: s.optionalObject("How new pods are treated.", {
    paused: s.optional(s.flag("Leave new pods alone.")),
    revision: s.optionalObject("Revision that new pods get.", {
      customVersion: s.optional(s.text("Revision by its version label.")),
      policy: s.optional(
        s.choice("Whether all new pods get the revision.", ["Always", "Partial"], {
          default: "Always",
        }),
      ),
      revisionName: s.optional(s.text("Revision by name.")),
    }),
  }),
  namespaceSelector: s.optional(s.labelSelector("Namespaces of the pods; all by default.")),
  patchPodMetadata: s.optionalObjectList("Annotations added to the pod.", "One patch.", {
    annotations: s.optional(s.stringMap("Annotations.")),
    patchPolicy: s.optional(s.text("Retain (default), Overwrite or MergePatchJson.")),
  }),
  revisionHistoryLimit: s.optional(s.int32("Revisions that are kept; 10 by default.")),
  selector: s.optional(s.labelSelector("Pods that get the sidecars.")),
  updateStrategy: s.optionalObject("How running pods are brought to a new revision.", {
    maxUnavailable: s.optional(s.intOrString("Pods that may be unavailable during an update; 1 by default.")),
    partition: s.optional(s.intOrString("Pods that stay at the old revision; 0 by default.")),
    paused: s.optional(s.flag("Hold the update.")),
    priorityStrategy,
    scatterStrategy,
    selector: s.optional(s.labelSelector("Pods that are updated; all by default.")),
    type: s.optional(s.text("RollingUpdate (default) or NotUpdate.")),
  }),
  volumes: s.optional(s.preserve<Volume[]>("Volumes that the sidecars mount.")),
};

const specV1alpha1 = s.specOf({ ...common, namespace: s.optional(s.text("The one namespace of the pods.")) });

const spec = s.specOf({
  ...common,
  customVersion: s.optional(s.text("Version by which the revision can be named.")),
});

const status = s.statusOf({
  collisionCount,
  latestRevision: s.optional(s.text("Revision of the present spec.")),
  matchedPods: s.int32("Pods that match."),
  observedGeneration,
  readyPods: s.int32("Those that are ready."),
  updatedPods: s.int32("Those at the latest revision."),
  updatedReadyPods: s.optional(s.int32("Those that are both.")),
});

export type SidecarContainer = s.Static<typeof sidecar>;
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
