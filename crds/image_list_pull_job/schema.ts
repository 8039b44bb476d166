/** ImageListPullJob; both versions are alike. Spec: images. */

import { defineKind } from "../define_kind.ts";
import { dateTime, int32, list, object, optional, type Static, strings, text } from "../dsl.ts";
import { imagePullSettings } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const imageListPullJobSpec = object(
  { ...imagePullSettings(), images: strings("Images to pull.") },
  "What is wanted.",
);

const status = object(
  {
    active: optional(int32("Images that are being pulled.")),
    completed: optional(int32("Images whose job ended.")),
    completionTime: optional(dateTime("When the job ended.")),
    desired: int32("Number of images."),
    failedImageStatuses: optional(
      list(
        object(
          {
            imagePullJob: optional(text("Job that pulled the image.")),
            message: optional(text("What went wrong.")),
            name: optional(text("Image.")),
          },
          "One image.",
        ),
        "Images that could not be pulled everywhere.",
      ),
    ),
    startTime: optional(dateTime("When the job began.")),
    succeeded: optional(int32("Images that were pulled on all nodes.")),
  },
  "What is observed.",
);

export type ImageListPullJobSpec = Static<typeof imageListPullJobSpec>;
export type ImageListPullJobStatus = Static<typeof status>;
export type ImageListPullJob = KindObject<ImageListPullJobSpec, ImageListPullJobStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "TOTAL", type: "integer", jsonPath: ".status.desired", description: "Number of images." },
  {
    name: "SUCCEEDED",
    type: "integer",
    jsonPath: ".status.succeeded",
    description: "Images that were pulled on all nodes.",
  },
  {
    name: "COMPLETED",
    type: "integer",
    jsonPath: ".status.completed",
    description: "Images whose job ended.",
  },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
