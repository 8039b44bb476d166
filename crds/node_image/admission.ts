/** Defaults and refusals of NodeImages; both versions are alike but for the mode of secrets. Spec: images N2, N5. */
import { cloneJson, formatTime, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { defaultPullPolicy } from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import { member, objectsIn } from "../members.ts";
import type { NodeImage } from "./schema.ts";

const mostImages = 256;

/** A copy of the object with every default filled in. `now`: milliseconds since the epoch. */
export function defaultNodeImage(object: JsonObject, now: number): JsonObject {
  const result = cloneJson(object);
  for (const image of Object.values(member(member(result, "spec"), "images")))
    if (isJsonObject(image)) for (const tag of objectsIn(image, "tags")) defaultTag(tag, now);
  return result;
}

function defaultTag(tag: JsonObject, now: number): void {
  if ((own(tag, "createdAt") ?? null) === null) tag["createdAt"] = formatTime(now);
  const policy = own(tag, "pullPolicy");
  if (isJsonObject(policy)) defaultPullPolicy(policy);
}

/** What is wrong, in the order in which it is said. */
export function nodeImageComplaints({ spec }: Draft<NodeImage>): string[] {
  const images = Object.entries(spec?.images ?? {});
  const tooMany = `spec images length ${images.length} can not be more than ${mostImages}`;
  return [
    ...(images.length > mostImages ? [tooMany] : []),
    ...images.flatMap(([name, image]) =>
      name === "" ? ["image name can not be empty"] : tagsComplaints(name, image.tags ?? []),
    ),
  ];
}

type Tag = NonNullable<NonNullable<NodeImage["spec"]["images"]>[string]>["tags"][number];

function tagsComplaints(name: string, tags: readonly Tag[]): string[] {
  const seen = new Set<string>();
  return tags.flatMap(({ tag = "", createdAt, version = 0, pullPolicy }) => {
    if (tag === "") return [`tag for image ${name} can not be empty`];
    const complaints: string[] = [];
    if (seen.has(tag)) complaints.push(`duplicated tag ${tag} for image ${name}`);
    seen.add(tag);
    if (!createdAt) complaints.push(`createAt field for ${name}/${tag} can not be empty`);
    if (version < 0) complaints.push(`version for ${name}/${tag} can not be less than 0`);
    if (!pullPolicy) complaints.push(`pullPolicy field for ${name}/${tag} must set`);
    else if ((pullPolicy.ttlSecondsAfterFinished ?? null) === null)
      complaints.push(`pullPolicy.ttlSecondsAfterFinished for ${name}/${tag} must set`);
    return complaints;
  });
}
