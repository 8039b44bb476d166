/** Defaults and refusals of ImageListPullJobs; both versions are alike. Spec: images L2. */
import { cloneJson, type JsonObject } from "../../kube/core/index.ts";
import {
  defaultPullSettings,
  imageComplaint,
  member,
  nodesComplaint,
  pullComplaint,
} from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import type { ImageListPullJob, ImageListPullJobSpec } from "./schema.ts";

const mostImages = 255;

/** A copy of the object with every default filled in. The image pull policy is left to the jobs that are made. */
export function defaultImageListPullJob(object: JsonObject): JsonObject {
  const result = cloneJson(object);
  defaultPullSettings(member(result, "spec"));
  return result;
}

/** The first thing that is wrong, undefined when all is well. AdvancedCronJob embeds the same spec. */
export function imageListPullJobComplaint({ spec }: Draft<ImageListPullJob>): string | undefined {
  return imageListPullJobSpecComplaint(spec ?? {});
}

export function imageListPullJobSpecComplaint(spec: Partial<ImageListPullJobSpec>): string | undefined {
  return nodesComplaint(spec) ?? imagesComplaint(spec.images ?? []) ?? pullComplaint(spec, false);
}

function imagesComplaint(images: readonly string[]): string | undefined {
  if (images.length === 0) return "image can not be empty";
  if (images.length > mostImages) return `the maximum number of images cannot > ${mostImages}`;
  if (new Set(images).size !== images.length) return "images cannot have duplicate values";
  for (const image of images) {
    const complaint = image === "" ? "image can not be empty" : imageComplaint(image);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}
