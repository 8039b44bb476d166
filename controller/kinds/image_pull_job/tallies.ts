/** The jobs that run, found by the image and tag that a NodeImage speaks of: one node's event touches its own jobs only. */
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import type { Change, Pod, Reader } from "../../../kube/index.ts";
import type { SecretReference } from "../../rollout/images/node_image.ts";
import { lacksSecret, nodeState, type PullTarget, pullTarget } from "../../rollout/images/pull_task.ts";
import { JobNodes } from "./nodes.ts";
import { type NodeSelection, nodeSelection, PodNodes } from "./selection.ts";

export interface Tally {
  readonly key: string;
  readonly uid: string;
  readonly generation: number;
  readonly target: PullTarget;
  readonly nodes: JobNodes;
  readonly selection: NodeSelection;
  readonly pods: PodNodes | undefined;
}

export class Tallies {
  readonly #nodeImages: Reader<NodeImage>;
  readonly #enqueue: (key: string) => void;
  readonly #byKey = new Map<string, Tally>();
  readonly #byImage = new Map<string, Set<Tally>>();

  /** `enqueue`: the counts of this job changed. */
  constructor(nodeImages: Reader<NodeImage>, enqueue: (key: string) => void) {
    this.#nodeImages = nodeImages;
    this.#enqueue = enqueue;
  }

  get(key: string): Tally | undefined {
    return this.#byKey.get(key);
  }

  /** The tally of the job as it is now: counted again only when its spec or its secrets changed. */
  of(
    key: string,
    job: ImagePullJob,
    secrets: readonly SecretReference[],
    /** Pods that the job selects; undefined without podSelector. */
    pods: Reader<Pod> | undefined,
  ): Tally {
    const { uid = "", generation = 0 } = job.metadata;
    const held = this.#byKey.get(key);
    const isSame =
      held?.uid === uid &&
      held.generation === generation &&
      (held.pods === undefined) === (pods === undefined);
    if (isSame && jsonEqual(held.target.secrets, secrets)) return held;
    this.forget(key);
    const podNodes = pods === undefined ? undefined : new PodNodes(pods.values());
    const tally: Tally = {
      key,
      uid,
      generation,
      target: pullTarget(job, secrets),
      // Writes in flight are remembered whatever the job asks for now.
      nodes: held?.uid === uid ? held.nodes : new JobNodes(),
      selection: nodeSelection(job, podNodes),
      pods: podNodes,
    };
    this.#count(tally);
    this.#byKey.set(key, tally);
    const id = imageId(tally.target.name, tally.target.tag);
    const others = this.#byImage.get(id);
    if (others === undefined) this.#byImage.set(id, new Set([tally]));
    else others.add(tally);
    return tally;
  }

  forget(key: string): void {
    const held = this.#byKey.get(key);
    if (held === undefined) return;
    this.#byKey.delete(key);
    const id = imageId(held.target.name, held.target.tag);
    const tallies = this.#byImage.get(id);
    tallies?.delete(held);
    if (tallies?.size === 0) this.#byImage.delete(id);
  }

  nodeImageChanged(change: Change<NodeImage>): void {
    const node = change.object.metadata.name ?? "";
    if (
      change.type !== "changed" ||
      !jsonEqual(change.before.metadata.labels, change.object.metadata.labels)
    ) {
      for (const tally of this.#byKey.values()) this.#update(tally, node);
      return;
    }
    const seen = new Set<string>();
    for (const { spec } of [change.before, change.object]) {
      for (const [name, image] of Object.entries(spec?.images ?? {})) {
        for (const { tag } of image.tags ?? []) seen.add(imageId(name, tag));
      }
    }
    for (const id of seen) for (const tally of this.#byImage.get(id) ?? []) this.#update(tally, node);
  }

  podChanged(key: string, change: Change<Pod>): void {
    const tally = this.#byKey.get(key);
    for (const node of tally?.pods?.apply(change) ?? []) if (tally !== undefined) this.#update(tally, node);
  }

  #update(tally: Tally, node: string): void {
    if (this.#set(tally, node)) this.#enqueue(tally.key);
  }

  #count(tally: Tally): void {
    const { nodes, selection } = tally;
    const known = nodes.names();
    const selected = selection.names();
    if (selected === undefined) {
      for (const { metadata } of this.#nodeImages.values()) this.#set(tally, metadata.name ?? "");
    } else for (const node of selected) this.#set(tally, node);
    for (const node of known) this.#set(tally, node);
  }

  #set({ nodes, selection, target }: Tally, node: string): boolean {
    const nodeImage = this.#nodeImages.get(node);
    if (nodeImage === undefined || !selection.selects(nodeImage)) return nodes.set(node, undefined, false);
    return nodes.set(node, nodeState(nodeImage, target), lacksSecret(nodeImage, target));
  }
}

function imageId(name: string, tag: string): string {
  return `${name} ${tag}`;
}
