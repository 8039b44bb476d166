/** Defaults and refusals of ImageListPullJobs; both versions are alike. Spec: images L2. */
import { cloneJson, ensureObject, type JsonObject } from "../../kube/core/index.ts";
import {
  defaultPullSettings,
  imageComplaints,
  nodesComplaints,
  pullComplaints,
} from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import type { ImageListPullJob, ImageListPullJobSpec } from "./schema.ts";

const mostImages = 255;

/** A copy of the object with every default filled in. The image pull policy is left to the jobs that are made. */
export function defaultImageListPullJob(object: JsonObject): JsonObject {
  const result = cloneJson(object);
  defaultPullSettings(ensureObject(result, "spec"));
  return result;
}

/** What is wrong, in the order in which it is said. AdvancedCronJob embeds the same spec. */
export function imageListPullJobComplaints({ spec }: Draft<ImageListPullJob>): string[] {
  return imageListPullJobSpecComplaints(spec ?? {});
}

export function imageListPullJobSpecComplaints(spec: Partial<ImageListPullJobSpec>): string[] {
  return [...nodesComplaints(spec), ...imagesComplaints(spec.images ?? []), ...pullComplaints(spec, false)];
}

function imagesComplaints(images: readonly string[]): string[] {
  if (images.length === 0) return ["image can not be empty"];
  const complaints: string[] = [];
  if (images.length > mostImages) complaints.push(`the maximum number of images cannot > ${mostImages}`);
  if (new Set(images).size !== images.length) complaints.push("images cannot have duplicate values");
  return [...complaints, ...images.flatMap(imageComplaints)];
}
