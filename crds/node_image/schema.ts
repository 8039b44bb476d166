/** NodeImage, the list of images of one node. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  dateTime,
  int32,
  int64,
  list,
  map,
  object,
  objectList,
  optional,
  type Static,
  specOf,
  statusOf,
  type TProperties,
  text,
} from "../dsl.ts";
import { objectReference, sandboxConfig } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

const tag = object("One tag.", {
  createdAt: optional(dateTime("When the tag was asked for.")),
  imagePullPolicy: optional(text("IfNotPresent (default) or Always.")),
  ownerReferences: optional(list("Jobs that ask for the tag.", objectReference("One job."))),
  pullPolicy: optional(
    object("How the tag is pulled.", {
      activeDeadlineSeconds: optional(int64("Seconds after which the task ends.")),
      backoffLimit: optional(int32("Attempts until the pull counts as failed.")),
      timeoutSeconds: optional(int32("Seconds after which one attempt is given up.")),
      ttlSecondsAfterFinished: optional(int32("Seconds after which the finished task is removed.")),
    }),
  ),
  tag: text("Tag or digest."),
  version: optional(int64("Raised to pull once more.")),
});

const secret = { name: optional(text("Name.")), namespace: optional(text("Namespace.")) };
const secretWithMode = {
  ...secret,
  mode: optional(text("batch: a copy that goes with the image; empty: used as it is.")),
};

function spec<F extends TProperties>(fields: F) {
  const image = object("One image.", {
    pullSecrets: optional(objectList("Secrets with registry credentials.", "One Secret.", fields)),
    sandboxConfig: optional(sandboxConfig()),
    tags: list("Tags to pull.", tag),
  });
  return specOf({ images: optional(map("Images by name, without tag.", image)) });
}

const tagStatus = object("One tag.", {
  completionTime: optional(dateTime("When the task ended.")),
  imageID: optional(text("Image the runtime has for the tag.")),
  message: optional(text("What went wrong.")),
  phase: text("Waiting, Pulling, Succeeded or Failed."),
  progress: optional(int32("Percentage.")),
  startTime: optional(dateTime("When the task began.")),
  tag: text("Tag or digest."),
  version: optional(int64("Version of the task.")),
});

const status = statusOf({
  desired: int32("Number of tasks."),
  failed: optional(int32("Tasks that failed.")),
  firstSyncStatus: optional(
    object("First look at the node's images after the agent started.", {
      message: optional(text("What went wrong.")),
      status: optional(text("failed or succeeded.")),
      syncAt: optional(dateTime("When it happened.")),
    }),
  ),
  imageStatuses: optional(
    map("Tasks by image name.", object("One image.", { tags: list("Tags.", tagStatus) })),
  ),
  pulling: optional(int32("Tasks that run.")),
  succeeded: optional(int32("Tasks that succeeded.")),
  waiting: optional(int32("Tasks that wait.")),
});

const specV1alpha1 = spec(secret);
const specV1beta1 = spec(secretWithMode);

export type NodeImageSpec = Static<typeof specV1beta1>;
export type NodeImageStatus = Static<typeof status>;
export type NodeImage = KindObject<NodeImageSpec, NodeImageStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("DESIRED", ".status.desired", "Number of tasks."),
  integerColumn("PULLING", ".status.pulling", "Tasks that run."),
  integerColumn("SUCCEED", ".status.succeeded", "Tasks that succeeded."),
  integerColumn("FAILED", ".status.failed", "Tasks that failed."),
  ageColumn,
];

export const nodeImage = defineKind({
  kind: "NodeImage",
  plural: "nodeimages",
  scope: "Cluster",
  description: "Images that one node should have, and how far it is.",
  conversion: "None",
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns },
    { name: "v1beta1", storage: true, spec: specV1beta1, status, columns },
  ],
});
