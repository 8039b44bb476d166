/** ImageListPullJob; both versions are alike. Spec: images. */

import { ageColumn, integerColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { imagePullSettings } from "../pull_fragments.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const imageListPullJobSpec = s.specOf({
  ...imagePullSettings,
  images: s.strings(
    "Images to pull, 1 to 255, each once, with tag or digest. For each of them an ImagePullJob is made.",
  ),
});

const status = s.statusOf({
  active: s.optional(s.int32("Number of images that are being pulled.")),
  completed: s.optional(s.int32("Number of images for which every node has succeeded or failed.")),
  completionTime,
  desired: s.int32("Number of images."),
  failedImageStatuses: s.optionalObjectList("Images that could not be pulled everywhere.", "One image.", {
    imagePullJob: s.optional(s.text("Name of the ImagePullJob of the image.")),
    message: s.optional(s.text("Where to read which nodes failed.")),
    name: s.optional(s.text("Image, as in spec.images.")),
  }),
  startTime,
  succeeded: s.optional(s.int32("Number of images that every node has.")),
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
