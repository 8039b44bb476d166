/** ImageListPullJob; both versions are alike. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import { int32, objectList, optional, type Static, specOf, statusOf, strings, text } from "../dsl.ts";
import { completionTime, imagePullSettings, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const imageListPullJobSpec = specOf({ ...imagePullSettings(), images: strings("Images to pull.") });

const status = statusOf({
  active: optional(int32("Images that are being pulled.")),
  completed: optional(int32("Images whose job ended.")),
  completionTime,
  desired: int32("Number of images."),
  failedImageStatuses: optional(
    objectList("Images that could not be pulled everywhere.", "One image.", {
      imagePullJob: optional(text("Job that pulled the image.")),
      message: optional(text("What went wrong.")),
      name: optional(text("Image.")),
    }),
  ),
  startTime,
  succeeded: optional(int32("Images that were pulled on all nodes.")),
});

export type ImageListPullJobSpec = Static<typeof imageListPullJobSpec>;
export type ImageListPullJobStatus = Static<typeof status>;
export type ImageListPullJob = KindObject<ImageListPullJobSpec, ImageListPullJobStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("TOTAL", ".status.desired", "Number of images."),
  integerColumn("SUCCEEDED", ".status.succeeded", "Images that were pulled on all nodes."),
  integerColumn("COMPLETED", ".status.completed", "Images whose job ended."),
  ageColumn,
];

export const imageListPullJob = defineKind({
  kind: "ImageListPullJob",
  plural: "imagelistpulljobs",
  description: "Pulls several images ahead on chosen nodes.",
  conversion: "None",
  versions: [
    { name: "v1alpha1", storage: false, spec: imageListPullJobSpec, status, columns },
    { name: "v1beta1", storage: true, spec: imageListPullJobSpec, status, columns },
  ],
});
