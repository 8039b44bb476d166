/** NodeImage, the list of images of one node. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { objectReference, sandboxConfig } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

const tag = s.object("One tag.", {
  createdAt: s.optional(s.dateTime("When the tag was asked for.")),
  imagePullPolicy: s.optional(s.text("IfNotPresent (default) or Always.")),
  ownerReferences: s.optional(s.list("Jobs that ask for the tag.", objectReference("One job."))),
  pullPolicy: s.optionalObject("How the tag is pulled.", {
    activeDeadlineSeconds: s.optional(s.int64("Seconds after which the task ends.")),
    backoffLimit: s.optional(s.int32("Attempts until the pull counts as failed.")),
    timeoutSeconds: s.optional(s.int32("Seconds after which one attempt is given up.")),
    ttlSecondsAfterFinished: s.optional(s.int32("Seconds after which the finished task is removed.")),
  }),
  tag: s.text("Tag or digest."),
  version: s.optional(s.int64("Raised to pull once more.")),
});

const secret = { name: s.optional(s.text("Name.")), namespace: s.optional(s.text("Namespace.")) };
const secretWithMode = {
  ...secret,
  mode: s.optional(s.text("batch: a copy that goes with the image; empty: used as it is.")),
};

function spec<F extends s.TProperties>(fields: F) {
  const image = s.object("One image.", {
    pullSecrets: s.optionalObjectList("Secrets with registry credentials.", "One Secret.", fields),
    sandboxConfig,
    tags: s.list("Tags to pull.", tag),
  });
  return s.specOf({ images: s.optional(s.map("Images by name, without tag.", image)) });
}

const tagStatus = s.object("One tag.", {
  completionTime: s.optional(s.dateTime("When the task ended.")),
  imageID: s.optional(s.text("Image the runtime has for the tag.")),
  message: s.optional(s.text("What went wrong.")),
  phase: s.text("Waiting, Pulling, Succeeded or Failed."),
  progress: s.optional(s.int32("Percentage.")),
  startTime: s.optional(s.dateTime("When the task began.")),
  tag: s.text("Tag or digest."),
  version: s.optional(s.int64("Version of the task.")),
});

const status = s.statusOf({
  desired: s.int32("Number of tasks."),
  failed: s.optional(s.int32("Tasks that failed.")),
  firstSyncStatus: s.optionalObject("First look at the node's images after the agent started.", {
    message: s.optional(s.text("What went wrong.")),
    status: s.optional(s.text("failed or succeeded.")),
    syncAt: s.optional(s.dateTime("When it happened.")),
  }),
  imageStatuses: s.optional(
    s.map("Tasks by image name.", s.object("One image.", { tags: s.list("Tags.", tagStatus) })),
  ),
  pulling: s.optional(s.int32("Tasks that run.")),
  succeeded: s.optional(s.int32("Tasks that succeeded.")),
  waiting: s.optional(s.int32("Tasks that wait.")),
});

const specV1alpha1 = spec(secret);
const specV1beta1 = spec(secretWithMode);

export type NodeImageSpec = s.Static<typeof specV1beta1>;
export type NodeImageStatus = s.Static<typeof status>;
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
