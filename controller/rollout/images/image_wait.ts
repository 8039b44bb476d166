/**
 * Holding pods back until their node has the image that is pulled ahead for them, for workloads that ask for it. A pull
 * that failed, a job that is gone and the time limit let them go: nothing waits for ever.
 */
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { counted, type Labels, type ObjectMeta, timeOf } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../decisions.ts";
import type { Revision } from "../revisions/revisions.ts";
import type { Action, Waiting } from "../writes/actions.ts";
import { currentStatus, tagOf } from "./node_image.ts";
import { isPullUndecided, pullJobName } from "./pre_download.ts";
import { nodeState, pullTarget } from "./pull_task.ts";

/** On a workload: `true`, or the longest time to wait in seconds. */
export const WAIT_FOR_IMAGE_ANNOTATION = "refit.dev/wait-for-image";
const LONGEST_WAIT_MS = 600_000;

/** An image pull job that a workload controls; `job` where the plan may need more than its name. */
export interface ObservedPullJob {
  readonly name: string;
  readonly uid: string;
  readonly job?: ImagePullJob;
}

/** What a pass of any workload knows of the images that are pulled ahead for it. */
interface ImageState {
  readonly observed: {
    readonly set: { readonly metadata: ObjectMeta };
    /** Undefined while pulling ahead is switched off. */
    readonly pullJobs: readonly ObservedPullJob[] | undefined;
    readonly nodeImage?: (node: string) => NodeImage | undefined;
  };
  readonly update: Revision;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface Held {
  readonly pod: string;
  readonly node: string;
  readonly image: string;
  /** When the time limit lets the pod go, milliseconds since the epoch. */
  readonly until: number;
}

/** Asked pod by pod during one pass; remembers who waits. */
export class ImageWait {
  readonly #state: ImageState;
  readonly #begun: () => boolean;
  readonly #longestMs: number;
  readonly #held: Held[] = [];

  constructor(state: ImageState, begun: () => boolean, longestMs: number) {
    this.#state = state;
    this.#begun = begun;
    this.#longestMs = longestMs;
  }

  /** Whether the pod must not get these images (by container) yet. */
  holds(pod: Pod, images: Readonly<Record<string, string>>): boolean {
    for (const [container, image] of Object.entries(images)) {
      const until = this.#heldUntil(pod, container);
      if (until === undefined) continue;
      this.#held.push({ pod: pod.name, node: pod.nodeName, image, until });
      return true;
    }
    return false;
  }

  /** What is to be reported of a pod that goes although an image could not be pulled ahead. */
  reported(pod: Pod, images: Readonly<Record<string, string>>): Action[] {
    const actions: Action[] = [];
    for (const [container, image] of Object.entries(images)) {
      const message = this.#failure(pod, container);
      if (message === undefined) continue;
      const text = `pod ${pod.name} is updated although node ${pod.nodeName} could not pull ${image} ahead: ${message}`;
      actions.push({
        type: "event",
        event: { type: "Warning", reason: "UpdateWithoutImage", message: text },
      });
    }
    return actions;
  }

  /** Who waits, and when time alone lets the first of them go. */
  report(decisions: Decisions): void {
    decisions.wait(...this.#waiting());
    if (this.#held.length === 0) return;
    decisions.requeueAfter(Math.max(1, Math.min(...this.#held.map(({ until }) => until)) - this.#state.now));
  }

  #waiting(): Waiting[] {
    const images = [...new Set(this.#held.map(({ image }) => image))].sort();
    return images.map((image) => {
      const held = this.#held.filter((each) => each.image === image);
      const nodes = new Set(held.map(({ node }) => node)).size;
      const who = counted(held.length, "pod waits", "pods wait");
      const seconds = Math.ceil((this.#firstEnd(image) - this.#state.now) / 1000);
      return {
        reason: "ImagePull",
        message: `${who}: ${image} is still being pulled on ${counted(nodes, "node")}`,
        until: `the image is there, its pull has failed, or ${seconds} s have passed (${WAIT_FOR_IMAGE_ANNOTATION})`,
        pods: held.slice(0, 10).map(({ pod }) => pod),
      };
    });
  }

  #firstEnd(image: string): number {
    return Math.min(...this.#held.filter((held) => held.image === image).map(({ until }) => until));
  }

  #heldUntil(pod: Pod, container: string): number | undefined {
    const { observed, update, now } = this.#state;
    if (pod.nodeName === "") return undefined;
    const job = this.#job(container);
    const since = job === undefined ? update.stored?.createdAt : timeOf(job.metadata.creationTimestamp);
    const until = (since ?? now) + this.#longestMs;
    if (until <= now) return undefined;
    if (job === undefined) return isPullUndecided(update) && this.#begun() ? until : undefined;
    if (job.status?.completionTime !== undefined || job.metadata.deletionTimestamp !== undefined) {
      return undefined;
    }
    const nodeImage = observed.nodeImage?.(pod.nodeName);
    if (nodeImage === undefined) return undefined;
    const state = nodeState(nodeImage, pullTarget(job, []));
    return state === "succeeded" || state === "failed" ? undefined : until;
  }

  #failure(pod: Pod, container: string): string | undefined {
    const job = this.#job(container);
    const nodeImage = job === undefined ? undefined : this.#state.observed.nodeImage?.(pod.nodeName);
    if (job === undefined || nodeImage === undefined) return undefined;
    const target = pullTarget(job, []);
    const tag = tagOf(nodeImage, target.name, target.tag);
    const status = tag === undefined ? undefined : currentStatus(nodeImage, target.name, tag);
    return status?.phase === "Failed" ? (status.message ?? "no reason was given") : undefined;
  }

  #job(container: string): ImagePullJob | undefined {
    const { observed, update } = this.#state;
    const name = pullJobName(update, container);
    return observed.pullJobs?.find((each) => each.name === name)?.job;
  }
}

/**
 * Undefined where the workload does not ask for it, or images are not pulled ahead. `begun` tells whether enough pods
 * run the new revision for a job to be made.
 */
export function imageWait(state: ImageState, begun: () => boolean): ImageWait | undefined {
  const { set, pullJobs } = state.observed;
  const longestMs = longestWaitMs(set.metadata.annotations);
  return longestMs === undefined || pullJobs === undefined
    ? undefined
    : new ImageWait(state, begun, longestMs);
}

/** Undefined: the workload does not ask for it. */
export function longestWaitMs(annotations: Labels | undefined): number | undefined {
  const text = annotations?.[WAIT_FOR_IMAGE_ANNOTATION];
  if (text === "true") return LONGEST_WAIT_MS;
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) * 1000 : undefined;
}
