/** What is to go from a NodeImage's spec, and when the next thing will. Pure. Spec: images N4.2 to N4.6. */
import type { ImagePullJob, NodeImage, NodeImageSpec } from "../../../crds/index.ts";
import { notAhead, put, timeOf } from "../../../kube/core/index.ts";
import { earliest } from "../../plan/earliest.ts";
import {
  currentStatus,
  type ImageSpec,
  PULL_JOB,
  type SecretReference,
  type TagOwner,
  type TagSpec,
} from "../../rollout/images/node_image.ts";

export interface PruneFacts {
  /** Whether the job of this name and UID is still there. */
  jobExists(owner: TagOwner): boolean;
  /** Whether it `awaitsResults`. */
  awaitsResult(owner: TagOwner): boolean;
  /** Whether the secret is still there; true where that is not known. */
  secretExists(secret: SecretReference): boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

interface Pruned {
  /** The spec as it should be; the very object when nothing goes. */
  spec: NodeImageSpec;
  /** When time alone removes the next tag; milliseconds since the epoch. */
  nextAt: number | undefined;
}

/** The spec without what has served its purpose. */
export function pruneNodeImage(nodeImage: NodeImage, facts: PruneFacts): Pruned {
  const images: NonNullable<NodeImageSpec["images"]> = {};
  let isChanged = false;
  let nextAt: number | undefined;
  for (const [name, image] of Object.entries(nodeImage.spec?.images ?? {})) {
    const kept = pruneImage(nodeImage, name, image, facts);
    nextAt = earliest([nextAt, kept.nextAt]);
    if (kept.image !== image) isChanged = true;
    if (kept.image !== undefined) put(images, name, kept.image);
  }
  return { spec: isChanged ? { ...nodeImage.spec, images } : nodeImage.spec, nextAt };
}

function pruneImage(
  nodeImage: NodeImage,
  name: string,
  image: ImageSpec,
  facts: PruneFacts,
): { image: ImageSpec | undefined; nextAt: number | undefined } {
  const tags: TagSpec[] = [];
  let nextAt: number | undefined;
  for (const tag of image.tags ?? []) {
    const expiresAt = expiry(nodeImage, name, tag, facts);
    const kept =
      timeOf(tag.createdAt) === undefined ? undefined : withLivingOwners(datedAnew(tag, facts), facts);
    if (kept === undefined || (expiresAt !== undefined && expiresAt <= facts.now)) continue;
    nextAt = earliest([nextAt, expiresAt]);
    tags.push(kept);
  }
  const secrets = image.pullSecrets?.filter((each) => each.mode === "batch" || facts.secretExists(each));
  const isSame =
    tags.length === image.tags?.length &&
    tags.every((tag, index) => tag === image.tags[index]) &&
    secrets?.length === image.pullSecrets?.length;
  if (isSame) return { image: tags.length === 0 ? undefined : image, nextAt };
  if (tags.length === 0) return { image: undefined, nextAt };
  return { image: { ...image, tags, ...(secrets === undefined ? {} : { pullSecrets: secrets }) }, nextAt };
}

/** What a clock that was ahead has asked for is answered late, or never, only by the time of now. */
function datedAnew(tag: TagSpec, { now }: PruneFacts): TagSpec {
  const createdAt = notAhead(tag.createdAt, now);
  return createdAt === tag.createdAt ? tag : { ...tag, createdAt };
}

/** Undefined when every owner of a tag that had some is gone; tags that never had any stay (rule N4.3). */
function withLivingOwners(tag: TagSpec, facts: PruneFacts): TagSpec | undefined {
  const owners = tag.ownerReferences ?? [];
  const living = owners.filter((owner) => owner.kind !== PULL_JOB || facts.jobExists(owner));
  if (living.length === owners.length) return tag;
  return living.length === 0 ? undefined : { ...tag, ownerReferences: living };
}

/**
 * Whether the job ends once every node has a result. A result that is gone before counts no more, and the node is asked again:
 * with many nodes after one another the job would never have all of them.
 */
export function awaitsResults({ metadata, spec, status }: ImagePullJob): boolean {
  const isOver = metadata.deletionTimestamp !== undefined || status?.completionTime !== undefined;
  return !isOver && (spec.completionPolicy?.type ?? "Always") === "Always";
}

/** When the finished task has served its time; undefined while it runs, or when it stays (rule N4.4). */
function expiry(nodeImage: NodeImage, name: string, tag: TagSpec, facts: PruneFacts): number | undefined {
  const owners = tag.ownerReferences ?? [];
  if (owners.some((owner) => owner.kind === PULL_JOB && facts.awaitsResult(owner))) return undefined;
  const ttl = tag.pullPolicy?.ttlSecondsAfterFinished;
  const completedAt = timeOf(currentStatus(nodeImage, name, tag)?.completionTime);
  return typeof ttl === "number" && completedAt !== undefined ? completedAt + ttl * 1000 : undefined;
}
