/** NodeImage, the list of images of one node. Spec: images. */

import { defineKind } from "../define_kind.ts";
import { dateTime, int32, int64, list, map, object, optional, type Static, text } from "../dsl.ts";
import { objectReference, sandboxConfig } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

const tag = object(
  {
    createdAt: optional(dateTime("When the tag was asked for.")),
    imagePullPolicy: optional(text("IfNotPresent (default) or Always.")),
    ownerReferences: optional(list(objectReference("One job."), "Jobs that ask for the tag.")),
    pullPolicy: optional(
      object(
        {
          activeDeadlineSeconds: optional(int64("Seconds after which the task ends.")),
          backoffLimit: optional(int32("Attempts until the pull counts as failed.")),
          timeoutSeconds: optional(int32("Seconds after which one attempt is given up.")),
          ttlSecondsAfterFinished: optional(int32("Seconds after which the finished task is removed.")),
        },
        "How the tag is pulled.",
      ),
    ),
    tag: text("Tag or digest."),
    version: optional(int64("Raised to pull once more.")),
  },
  "One tag.",
);

const secret = { name: optional(text("Name.")), namespace: optional(text("Namespace.")) };
const secretWithMode = {
  ...secret,
  mode: optional(text("batch: a copy that goes with the image; empty: used as it is.")),
};

function spec<F extends Parameters<typeof object>[0]>(fields: F) {
  const image = object(
    {
      pullSecrets: optional(list(object(fields, "One Secret."), "Secrets with registry credentials.")),
      sandboxConfig: optional(sandboxConfig()),
      tags: list(tag, "Tags to pull."),
    },
    "One image.",
  );
  return object({ images: optional(map(image, "Images by name, without tag.")) }, "What is wanted.");
}

const tagStatus = object(
  {
    completionTime: optional(dateTime("When the task ended.")),
    imageID: optional(text("Image the runtime has for the tag.")),
    message: optional(text("What went wrong.")),
    phase: text("Waiting, Pulling, Succeeded or Failed."),
    progress: optional(int32("Percentage.")),
    startTime: optional(dateTime("When the task began.")),
    tag: text("Tag or digest."),
    version: optional(int64("Version of the task.")),
  },
  "One tag.",
);

const status = object(
  {
    desired: int32("Number of tasks."),
    failed: optional(int32("Tasks that failed.")),
    firstSyncStatus: optional(
      object(
        {
          message: optional(text("What went wrong.")),
          status: optional(text("failed or succeeded.")),
          syncAt: optional(dateTime("When it happened.")),
        },
        "First look at the node's images after the agent started.",
      ),
    ),
    imageStatuses: optional(
      map(object({ tags: list(tagStatus, "Tags.") }, "One image."), "Tasks by image name."),
    ),
    pulling: optional(int32("Tasks that run.")),
    succeeded: optional(int32("Tasks that succeeded.")),
    waiting: optional(int32("Tasks that wait.")),
  },
  "What is observed.",
);

const specV1alpha1 = spec(secret);
const specV1beta1 = spec(secretWithMode);

export type NodeImageSpec = Static<typeof specV1beta1>;
export type NodeImageStatus = Static<typeof status>;
export type NodeImage = KindObject<NodeImageSpec, NodeImageStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "DESIRED", type: "integer", jsonPath: ".status.desired", description: "Number of tasks." },
  { name: "PULLING", type: "integer", jsonPath: ".status.pulling", description: "Tasks that run." },
  { name: "SUCCEED", type: "integer", jsonPath: ".status.succeeded", description: "Tasks that succeeded." },
  { name: "FAILED", type: "integer", jsonPath: ".status.failed", description: "Tasks that failed." },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
