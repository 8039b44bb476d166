/** Words for the parts of a NodeImage, and how to find them. Objects may have been edited by hand: nothing is taken for granted. */
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../../crds/index.ts";
import { isJsonObject, own } from "../../../kube/core/index.ts";

export type ImageSpec = NonNullable<NodeImageSpec["images"]>[string];
export type TagSpec = ImageSpec["tags"][number];
export type TagOwner = NonNullable<TagSpec["ownerReferences"]>[number];
export type SecretReference = NonNullable<ImageSpec["pullSecrets"]>[number];
export type TagStatus = NonNullable<NodeImageStatus["imageStatuses"]>[string]["tags"][number];

/** A NodeImage with this label has no node (spec images N4.1). */
export const FAKE_LABEL = "apps.kruise.io/fake-nodeimage";
export const PULL_JOB = "ImagePullJob";

/** An image may be called like a member of Object.prototype, `constructor`. */
export function imageOf(nodeImage: NodeImage, name: string): ImageSpec | undefined {
  const images = nodeImage.spec?.images;
  return images !== undefined && Object.hasOwn(images, name) ? images[name] : undefined;
}

export function tagOf(nodeImage: NodeImage, name: string, tag: string): TagSpec | undefined {
  return imageOf(nodeImage, name)?.tags?.find((each) => each.tag === tag);
}

export function tagStatusOf(nodeImage: NodeImage, name: string, tag: string): TagStatus | undefined {
  const statuses: unknown = nodeImage.status?.imageStatuses ?? {};
  const image = isJsonObject(statuses) ? own(statuses, name) : undefined;
  return isTagStatuses(image) ? image.tags.find((each) => each.tag === tag) : undefined;
}

function isTagStatuses(value: unknown): value is { tags: TagStatus[] } {
  return isJsonObject(value) && Array.isArray(value["tags"]);
}

/** The status of the version that is wanted now; an older one says nothing. */
export function currentStatus(nodeImage: NodeImage, name: string, tag: TagSpec): TagStatus | undefined {
  const status = tagStatusOf(nodeImage, name, tag.tag);
  return status !== undefined && (status.version ?? 0) === (tag.version ?? 0) ? status : undefined;
}

/** UIDs of the jobs that ask for anything on the node: the index by which a deleted job finds its entries. */
export function ownerUids(nodeImage: NodeImage): string[] {
  const uids = new Set<string>();
  for (const image of Object.values(nodeImage.spec?.images ?? {})) {
    for (const tag of image.tags ?? []) {
      for (const owner of tag.ownerReferences ?? []) if (owner.uid) uids.add(owner.uid);
    }
  }
  return [...uids];
}
