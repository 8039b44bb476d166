/** ImagePullJob; both versions differ in a printer column only. Spec: images. */

import { ageColumn, integerColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import { int32, optional, type Static, specOf, statusOf, strings, text } from "../dsl.ts";
import { completionTime, imagePullSettings, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

const spec = specOf({ ...imagePullSettings(), image: text("Image to pull.") });

const status = statusOf({
  active: optional(int32("Nodes that pull.")),
  completionTime,
  desired: int32("Nodes that should have the image."),
  failed: optional(int32("Nodes on which the pull failed.")),
  failedNodes: optional(strings("Names of the nodes on which the pull failed.")),
  message: optional(text("State in words.")),
  startTime,
  succeeded: optional(int32("Nodes that have the image.")),
});

export type ImagePullJobSpec = Static<typeof spec>;
export type ImagePullJobStatus = Static<typeof status>;
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
