/** SidecarSet. Spec: sidecarset 1 to 3. */

import { sidecars } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  container,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  object,
  optional,
  preserve,
  type Static,
  stringMap,
  strings,
  text,
} from "../dsl.ts";
import { priorityStrategy, scatterStrategy } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { Volume } from "../pod_template.ts";
import { convertSidecarSet } from "./convert.ts";

function sharePolicy(description: string) {
  return object({ type: optional(text("enabled or disabled (default).")) }, description);
}

function expressions(description: string) {
  return object(
    {
      cpu: optional(text("Expression over the CPU of the target containers.")),
      memory: optional(text("Expression over the memory of the target containers.")),
    },
    description,
  );
}

const transferEnv = object(
  {
    envName: optional(text("Variable to copy.")),
    envNames: optional(strings("Further variables to copy.")),
    sourceContainerName: optional(text("Container of the pod to copy from.")),
    sourceContainerNameFrom: optional(
      object(
        {
          fieldRef: optional(
            object(
              {
                apiVersion: optional(text("Version of the pod's schema.")),
                fieldPath: text("Label or annotation of the pod."),
              },
              "Field of the pod that holds the name.",
              { atomic: true },
            ),
          ),
        },
        "Where the container's name is found.",
      ),
    ),
  },
  "Variables of one container.",
);

const sidecar = container(
  {
    podInjectPolicy: optional(text("BeforeAppContainer or AfterAppContainer.")),
    resourcesPolicy: optional(
      object(
        {
          resourcesExpr: object(
            { limits: optional(expressions("Limits.")), requests: optional(expressions("Requests.")) },
            "Expressions that give the sidecar's resources.",
          ),
          targetContainersMode: choice(
            ["sum", "max"],
            "How the resources of several containers are combined.",
          ),
          targetContainersNameRegex: optional(text("Containers that count, by name.", { default: ".*" })),
        },
        "Resources in relation to those of the pod's other containers.",
      ),
    ),
    shareVolumeDevicePolicy: optional(sharePolicy("Whether the pod's volume devices are shared.")),
    shareVolumePolicy: optional(sharePolicy("Whether the pod's volume mounts are shared.")),
    transferEnv: optional(list(transferEnv, "Variables copied from the pod's containers.")),
    upgradeStrategy: optional(
      object(
        {
          hotUpgradeEmptyImage: optional(text("Image of the idle one of the two containers.")),
          upgradeType: optional(text("ColdUpgrade (default) or HotUpgrade.")),
        },
        "How the sidecar is updated.",
      ),
    ),
  },
  "One sidecar.",
);

const common = {
  containers: optional(list(sidecar, "Sidecars to add.")),
  imagePullSecrets: optional(
    list(
      object({ name: optional(text("Name.", { default: "" })) }, "One Secret.", { atomic: true }),
      "Secrets with registry credentials, added to the pod.",
    ),
  ),
  initContainers: optional(list(sidecar, "Init containers to add.")),
  injectionStrategy: optional(
    object(
      {
        paused: optional(flag("Leave new pods alone.")),
        revision: optional(
          object(
            {
              customVersion: optional(text("Revision by its version label.")),
              policy: optional(
                choice(["Always", "Partial"], "Whether all new pods get the revision.", {
                  default: "Always",
                }),
              ),
              revisionName: optional(text("Revision by name.")),
            },
            "Revision that new pods get.",
          ),
        ),
      },
      "How new pods are treated.",
    ),
  ),
  namespaceSelector: optional(labelSelector("Namespaces of the pods; all by default.")),
  patchPodMetadata: optional(
    list(
      object(
        {
          annotations: optional(stringMap("Annotations.")),
          patchPolicy: optional(text("Retain (default), Overwrite or MergePatchJson.")),
        },
        "One patch.",
      ),
      "Annotations added to the pod.",
    ),
  ),
  revisionHistoryLimit: optional(int32("Revisions that are kept; 10 by default.")),
  selector: optional(labelSelector("Pods that get the sidecars.")),
  updateStrategy: optional(
    object(
      {
        maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
        partition: optional(intOrString("Pods that stay at the old revision; 0 by default.")),
        paused: optional(flag("Hold the update.")),
        priorityStrategy: optional(priorityStrategy()),
        scatterStrategy: optional(scatterStrategy()),
        selector: optional(labelSelector("Pods that are updated; all by default.")),
        type: optional(text("RollingUpdate (default) or NotUpdate.")),
      },
      "How running pods are brought to a new revision.",
    ),
  ),
  volumes: optional(preserve<Volume[]>("Volumes that the sidecars mount.")),
};

const specV1alpha1 = object(
  { ...common, namespace: optional(text("The one namespace of the pods.")) },
  "What is wanted.",
);

const spec = object(
  { ...common, customVersion: optional(text("Version by which the revision can be named.")) },
  "What is wanted.",
);

const status = object(
  {
    collisionCount: optional(int32("Counter mixed into revision hashes when two collide.")),
    latestRevision: optional(text("Revision of the present spec.")),
    matchedPods: int32("Pods that match."),
    observedGeneration: optional(int64("Generation that the status is about.")),
    readyPods: int32("Those that are ready."),
    updatedPods: int32("Those at the latest revision."),
    updatedReadyPods: optional(int32("Those that are both.")),
  },
  "What is observed.",
);

export type SidecarContainer = Static<typeof sidecar>;
export type SidecarSetSpec = Static<typeof spec>;
export type SidecarSetStatus = Static<typeof status>;
export type SidecarSet = KindObject<SidecarSetSpec, SidecarSetStatus>;
export type SidecarSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, SidecarSetStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "MATCHED", type: "integer", jsonPath: ".status.matchedPods", description: "Pods that match." },
  {
    name: "UPDATED",
    type: "integer",
    jsonPath: ".status.updatedPods",
    description: "Those at the latest revision.",
  },
  { name: "READY", type: "integer", jsonPath: ".status.readyPods", description: "Those that are ready." },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
