/** NodeImage, the list of images of one node. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { objectReference } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { sandboxConfig } from "../pull_fragments.ts";

const tag = s.object("One tag.", {
  createdAt: s.optional(
    s.dateTime(
      "When the tag was asked for; the moment of the request by default. An agent that does not " +
        "answer within ten minutes lets the task fail.",
    ),
  ),
  imagePullPolicy: s.optional(
    s.text("IfNotPresent: a tag that the node has is not pulled. Always: it is. Without it, as Always."),
  ),
  ownerReferences: s.optional(
    s.list(
      "Jobs that ask for the tag; it goes with the last of them. A tag without any stays until " +
        "its time is over.",
      objectReference("One job."),
    ),
  ),
  pullPolicy: s.optionalObject("How the tag is pulled; required.", {
    activeDeadlineSeconds: s.optional(
      s.int64("Seconds after which the task ends as failed; without it there is no limit."),
    ),
    backoffLimit: s.optional(s.int32("Number of further attempts after one that failed; 3 by default.")),
    timeoutSeconds: s.optional(s.int32("Seconds after which one attempt is given up; 600 by default.")),
    ttlSecondsAfterFinished: s.optional(
      s.int32(
        "Seconds after its end until the task is removed, or until the jobs with policy Always " +
          "that asked for it have ended, if that is later; required.",
      ),
    ),
  }),
  tag: s.text("Tag, or digest with sha256: in front, each once in an image."),
  version: s.optional(s.int64("Number of the task, 0 or more; a higher one makes the node pull once more.")),
});

const secret = {
  name: s.optional(s.text("Name of the Secret.")),
  namespace: s.optional(s.text("Namespace of the Secret.")),
};
const secretWithMode = {
  ...secret,
  mode: s.optional(
    s.text(
      "With batch the entry is a copy, which goes with the image; without it, the Secret is " +
        "used as it is and left out once it is gone.",
    ),
  ),
};

function spec<F extends s.TProperties>(fields: F) {
  const image = s.object("One image.", {
    pullSecrets: s.optionalObjectList("Secrets with registry credentials.", "One Secret.", fields),
    sandboxConfig,
    tags: s.list("Tags to pull.", tag),
  });
  return s.specOf({
    images: s.optional(
      s.map(
        "Images that the node should have, by name without tag, such as nginx or " +
          "registry.example.com/web; 256 at most.",
        image,
      ),
    ),
  });
}

const tagStatus = s.object("One tag.", {
  completionTime: s.optional(s.dateTime("When the task ended, succeeded or failed.")),
  imageID: s.optional(s.text("Name and identity of the image that the runtime has for the tag.")),
  message: s.optional(s.text("What went wrong.")),
  phase: s.text("Waiting (for other pulls of the node), Pulling, Succeeded or Failed."),
  progress: s.optional(s.int32("Progress as a percentage: 0 until the image is there, then 100.")),
  startTime: s.optional(s.dateTime("When the pull began.")),
  tag: s.text("Tag or digest, as in spec."),
  version: s.optional(s.int64("Number of the task that this is about, as in spec.")),
});

const status = s.statusOf({
  desired: s.int32("Number of tags in spec."),
  failed: s.optional(s.int32("Number of tags whose pull failed.")),
  firstSyncStatus: s.optionalObject(
    "First look of the agent at the node's images. Agents of Refit do not report it.",
    {
      message: s.optional(s.text("What went wrong.")),
      status: s.optional(s.text("Result: Succeeded or Failed.")),
      syncAt: s.optional(s.dateTime("When the agent looked.")),
    },
  ),
  imageStatuses: s.optional(
    s.map(
      "How far each image is, by name.",
      s.object("One image.", { tags: s.list("Tags of the image.", tagStatus) }),
    ),
  ),
  pulling: s.optional(s.int32("Number of tags that are being pulled.")),
  succeeded: s.optional(s.int32("Number of tags that the node has.")),
  waiting: s.optional(s.int32("Number of tags that wait for other pulls.")),
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
