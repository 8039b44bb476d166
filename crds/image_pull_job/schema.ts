/** ImagePullJob; both versions differ in a printer column only. Spec: images. */

import { ageColumn, integerColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { imagePullSettings } from "../pull_fragments.ts";

const spec = s.specOf({
  ...imagePullSettings,
  pullSecrets: s.optional(
    s.strings("Names of Secrets with registry credentials, in the job's namespace. They cannot be changed."),
  ),
  image: s.text("Image to pull, with tag or digest; the tag latest without either."),
});

const status = s.statusOf({
  active: s.optional(s.int32("Number of nodes that pull or are about to.")),
  completionTime,
  desired: s.int32("Number of nodes that should have the image."),
  failed: s.optional(s.int32("Number of nodes on which the pull failed.")),
  failedNodes: s.optional(s.strings("Names of the nodes on which the pull failed.")),
  message: s.optional(s.text("State of the job in a sentence, with the part of the nodes that are done.")),
  startTime,
  succeeded: s.optional(s.int32("Number of nodes that have the image.")),
});

export type ImagePullJobSpec = s.Static<typeof spec>;
export type ImagePullJobStatus = s.Static<typeof status>;
export type ImagePullJob = KindObject<ImagePullJobSpec, ImagePullJobStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("TOTAL", ".status.desired", "Nodes that should have the image."),
  integerColumn("ACTIVE", ".status.active", "Nodes that pull."),
  integerColumn("SUCCEED", ".status.succeeded", "Nodes that have the image."),
  integerColumn("FAILED", ".status.failed", "Nodes on which the pull failed."),
  ageColumn,
];
const message: PrinterColumn = textColumn("MESSAGE", ".status.message", "State in words.");

export const imagePullJob = defineKind({
  kind: "ImagePullJob",
  plural: "imagepulljobs",
  description: "Pulls one image ahead on chosen nodes.",
  conversion: "None",
  versions: [
    { name: "v1alpha1", storage: false, spec, status, columns: [...columns, message] },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});
