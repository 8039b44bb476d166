/** ImagePullJob; both versions differ in a printer column only. Spec: images. */

import { defineKind } from "../define_kind.ts";
import { dateTime, int32, object, optional, type Static, strings, text } from "../dsl.ts";
import { imagePullSettings } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";

const spec = object({ ...imagePullSettings(), image: text("Image to pull.") }, "What is wanted.");

const status = object(
  {
    active: optional(int32("Nodes that pull.")),
    completionTime: optional(dateTime("When the job ended.")),
    desired: int32("Nodes that should have the image."),
    failed: optional(int32("Nodes on which the pull failed.")),
    failedNodes: optional(strings("Names of the nodes on which the pull failed.")),
    message: optional(text("State in words.")),
    startTime: optional(dateTime("When the job began.")),
    succeeded: optional(int32("Nodes that have the image.")),
  },
  "What is observed.",
);

export type ImagePullJobSpec = Static<typeof spec>;
export type ImagePullJobStatus = Static<typeof status>;
export type ImagePullJob = KindObject<ImagePullJobSpec, ImagePullJobStatus>;

const columns: readonly PrinterColumn[] = [
  {
    name: "TOTAL",
    type: "integer",
    jsonPath: ".status.desired",
    description: "Nodes that should have the image.",
  },
  { name: "ACTIVE", type: "integer", jsonPath: ".status.active", description: "Nodes that pull." },
  {
    name: "SUCCEED",
    type: "integer",
    jsonPath: ".status.succeeded",
    description: "Nodes that have the image.",
  },
  {
    name: "FAILED",
    type: "integer",
    jsonPath: ".status.failed",
    description: "Nodes on which the pull failed.",
  },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
];
const message: PrinterColumn = {
  name: "MESSAGE",
  type: "string",
  jsonPath: ".status.message",
  description: "State in words.",
};

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
