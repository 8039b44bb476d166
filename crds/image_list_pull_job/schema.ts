/** ImageListPullJob; both versions are alike. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, imagePullSettings, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const imageListPullJobSpec = s.specOf({
  ...imagePullSettings,
  images: s.strings("Images to pull."),
});

const status = s.statusOf({
  active: s.optional(s.int32("Images that are being pulled.")),
  completed: s.optional(s.int32("Images whose job ended.")),
  completionTime,
  desired: s.int32("Number of images."),
  failedImageStatuses: s.optionalObjectList("Images that could not be pulled everywhere.", "One image.", {
    imagePullJob: s.optional(s.text("Job that pulled the image.")),
    message: s.optional(s.text("What went wrong.")),
    name: s.optional(s.text("Image.")),
  }),
  startTime,
  succeeded: s.optional(s.int32("Images that were pulled on all nodes.")),
});

export type ImageListPullJobSpec = s.Static<typeof imageListPullJobSpec>;
export type ImageListPullJobStatus = s.Static<typeof status>;
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
