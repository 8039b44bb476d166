/** Defaults and refusals of NodeImages; both versions are alike but for the mode of secrets. Spec: images N2, N5. */
import { cloneJson, formatTime, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { defaultPullPolicy } from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import type { NodeImage } from "./schema.ts";

const mostImages = 256;

/** A copy of the object with every default filled in. `now`: milliseconds since the epoch. */
export function defaultNodeImage(object: JsonObject, now: number): JsonObject {
  const result = cloneJson(object);
  const spec = own(result, "spec");
  const images = isJsonObject(spec) ? own(spec, "images") : undefined;
  for (const image of isJsonObject(images) ? Object.values(images) : []) {
    const tags = isJsonObject(image) ? own(image, "tags") : undefined;
    for (const tag of Array.isArray(tags) ? tags : []) if (isJsonObject(tag)) defaultTag(tag, now);
  }
  return result;
}

function defaultTag(tag: JsonObject, now: number): void {
  if ((own(tag, "createdAt") ?? null) === null) tag["createdAt"] = formatTime(now);
  const policy = own(tag, "pullPolicy");
  if (isJsonObject(policy)) defaultPullPolicy(policy);
}

/** The first thing that is wrong, undefined when all is well. */
export function nodeImageComplaint({ spec }: Draft<NodeImage>): string | undefined {
  const images = Object.entries(spec?.images ?? {});
  if (images.length > mostImages) {
    return `spec images length ${images.length} can not be more than ${mostImages}`;
  }
  for (const [name, image] of images) {
    const complaint = name === "" ? "image name can not be empty" : tagsComplaint(name, image.tags ?? []);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

type Tag = NonNullable<NonNullable<NodeImage["spec"]["images"]>[string]>["tags"][number];

function tagsComplaint(name: string, tags: readonly Tag[]): string | undefined {
  const seen = new Set<string>();
  for (const { tag = "", createdAt, version = 0, pullPolicy } of tags) {
    if (tag === "") return `tag for image ${name} can not be empty`;
    if (seen.has(tag)) return `duplicated tag ${tag} for image ${name}`;
    seen.add(tag);
    if (!createdAt) return `createAt field for ${name}/${tag} can not be empty`;
    if (version < 0) return `version for ${name}/${tag} can not be less than 0`;
    if (!pullPolicy) return `pullPolicy field for ${name}/${tag} must set`;
    if ((pullPolicy.ttlSecondsAfterFinished ?? null) === null) {
      return `pullPolicy.ttlSecondsAfterFinished for ${name}/${tag} must set`;
    }
  }
  return undefined;
}
