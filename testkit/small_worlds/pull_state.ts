/** What a small world of ImagePullJobs is at one moment. */
import type { NodeForImages } from "../../controller/rollout/images/node_image_due.ts";
import type { ImagePullJob, ImagePullJobStatus, NodeImage } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";

/** What people, nodes and pods are. */
export interface Asked {
  readonly jobs: readonly ImagePullJob[];
  readonly nodes: ReadonlyMap<string, NodeForImages>;
  readonly pods: readonly Pod[];
  /** What an agent does with each pull. Default: it succeeds. `silent`: nobody hears of it. */
  readonly habits: Readonly<Record<string, "fails" | "hangs" | "silent">>;
  readonly now: number;
}

/** As it was asked for when it was decided. */
export interface Edit {
  readonly job: ImagePullJob;
  readonly at: number;
}

/** As `controller/runtime/executor/edits.ts` writes: one write of an object at a time, refused where it is another by now. */
export interface Write {
  readonly node: string;
  readonly base: NodeImage;
  readonly after: NodeImage;
  readonly edits: readonly Edit[];
  /** They go into the next one. */
  readonly waiting: readonly Edit[];
  /** `raced`: it was refused, and is to be made from what the server has now. */
  readonly is: "sent" | "stored" | "raced";
}

export type NodeImages = ReadonlyMap<string, NodeImage>;

export interface PullState extends Asked {
  readonly stored: NodeImages;
  /** What the controller has heard of. */
  readonly seen: NodeImages;
  readonly writes: readonly Write[];
  /** Nobody waits for these any more, and the server has yet to carry them out. */
  readonly late: readonly Write[];
  /** Nodes that refused. */
  readonly holds: readonly { readonly job: string; readonly node: string; readonly until: number }[];
  /** By the UID of a job: its end, planned and not stored yet. */
  readonly ends: ReadonlyMap<string, ImagePullJobStatus>;
  readonly stage: number;
  readonly mishaps: number;
}

/** What somebody does who looks at an object; without a state: nothing, before this time. */
export interface Look {
  readonly state?: PullState;
  readonly wakeAt?: number | undefined;
}

export function put<V>(
  map: ReadonlyMap<string, V>,
  key: string,
  value: V | undefined,
): ReadonlyMap<string, V> {
  const changed = new Map(map);
  if (value === undefined) changed.delete(key);
  else changed.set(key, value);
  return changed;
}
