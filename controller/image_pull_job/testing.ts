/** Builders for tests of pull jobs: nodes that answer as their agents would. */
import type { ImagePullJob, ImagePullJobSpec, NodeImage } from "../../crds/index.ts";
import { formatTime } from "../../kube/core/index.ts";
import { Cache } from "../../kube/index.ts";
import { nodeImageResource } from "../resources.ts";

/** 2026-01-01T00:00:00Z */
export const startMs = 1_767_225_600_000;

export function pullJob(
  spec: Partial<ImagePullJobSpec> = {},
  metadata: ImagePullJob["metadata"] = {},
  status?: ImagePullJob["status"],
): ImagePullJob {
  return {
    metadata: { name: "job", namespace: "ns", uid: "uid-job", generation: 1, ...metadata },
    spec: { image: "nginx:1.22", completionPolicy: { type: "Always" }, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

let version = 0;

export function nodeImage(name: string, parts: Partial<NodeImage> = {}): NodeImage {
  version += 1;
  const metadata = { name, uid: `uid-${name}`, resourceVersion: String(version), ...parts.metadata };
  return { spec: {}, ...parts, metadata };
}

/** The same object as it is after a write. */
export function written(before: NodeImage, change: Partial<NodeImage>): NodeImage {
  version += 1;
  return {
    ...before,
    ...change,
    metadata: { ...before.metadata, ...change.metadata, resourceVersion: String(version) },
  };
}

/** The agent's answer to every task of the NodeImage that has none of its version. */
export function answered(before: NodeImage, phase: string, now = startMs): NodeImage {
  const imageStatuses: NonNullable<NonNullable<NodeImage["status"]>["imageStatuses"]> = {};
  let desired = 0;
  for (const [name, image] of Object.entries(before.spec.images ?? {})) {
    const tags = image.tags.map(({ tag, version: wanted = 0 }) => {
      desired += 1;
      const known = before.status?.imageStatuses?.[name]?.tags.find((each) => each.tag === tag);
      if (known?.version === wanted && known.completionTime !== undefined) return known;
      const isOver = phase === "Succeeded" || phase === "Failed";
      const completion = isOver ? { completionTime: formatTime(now) } : {};
      return { tag, version: wanted, phase, startTime: formatTime(now), ...completion };
    });
    imageStatuses[name] = { tags };
  }
  return written(before, { status: { desired, imageStatuses } });
}

export function nodeImageCache(objects: Iterable<NodeImage> = []): Cache<NodeImage> {
  const cache = new Cache<NodeImage>({ identify: nodeImageResource.codec.identify });
  for (const object of objects) cache.upsert(object);
  return cache;
}
