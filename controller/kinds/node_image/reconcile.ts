/** NodeImages: follows nodes, jobs and secrets. No policy here. */

import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { jsonEqual, keyOf } from "../../../kube/core/index.ts";
import { type Cache, type Change, isKubeError, type Node } from "../../../kube/index.ts";
import { type PullSecret, pullSecretResource } from "../../native/pull_secrets.ts";
import { imagePullJobResource } from "../../plan/resources.ts";
import { ownerUids, PULL_JOB, type SecretReference, type TagOwner } from "../../rollout/images/node_image.ts";
import { nodeForImages } from "../../rollout/images/node_image_due.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds } from "../../runtime/selected_objects.ts";
import { planOneNodeImage } from "./plan.ts";
import { awaitsResults } from "./prune.ts";

const REMEMBERED_JOBS = 16_384;
const OWNER_INDEX = "pull job";

export class NodeImageReconciler implements Reconciler<NodeImage> {
  /** One for all: thousands of nodes are not to crowd out workloads. */
  readonly flow = "nodeimages";
  readonly #deps: KindDeps<NodeImage>;
  readonly #jobs: Cache<ImagePullJob>;
  readonly #secrets: SelectionNeeds<PullSecret>;
  /** UIDs of jobs that are known to be gone; oldest first. */
  readonly #gone = new Set<string>();

  constructor(deps: KindDeps<NodeImage>) {
    this.#deps = deps;
    const { objects, caches, informers, queue } = deps;
    objects.addIndex(OWNER_INDEX, ownerUids);
    this.#jobs = informers.cacheOf(imagePullJobResource);
    this.#jobs.subscribe((change) => {
      const { uid = "" } = change.object.metadata;
      if (change.type === "removed") this.#jobGone(uid);
      // Its time to live may be over for what was kept.
      else if (change.type === "changed" && awaitsResults(change.before) && !awaitsResults(change.object))
        this.#enqueueOwned(uid);
    });
    caches.nodes.subscribe((change) => {
      if (concernsNodeImage(change)) queue.add(change.object.name);
    });
    this.#secrets = deps.selectObjects(pullSecretResource).needs((key, change) => {
      if (change === undefined || change.type === "removed") queue.add(key);
    });
  }

  forget(key: string): void {
    this.#secrets.release(key);
    // Deleted by hand: the node gets another one.
    this.#deps.queue.add(key);
  }

  reconcile(nodeImage: NodeImage, key: string): Promise<Result> {
    return this.#pass(key, nodeImage);
  }

  reconcileAbsent(key: string): Promise<Result> {
    return this.#pass(key, undefined);
  }

  async #pass(key: string, nodeImage: NodeImage | undefined): Promise<Result> {
    const { caches, options, clock } = this.#deps;
    await this.#askForUnknownJobs(nodeImage);
    const node = caches.nodes.get(key);
    const observed = {
      node: node === undefined ? undefined : nodeForImages(node),
      nodeImage,
      jobExists: (owner: TagOwner) => !this.#gone.has(owner.uid ?? ""),
      awaitsResult: (owner: TagOwner) => {
        const job = this.#jobs.get(keyOfOwner(owner));
        return job !== undefined && job.metadata.uid === owner.uid && awaitsResults(job);
      },
      secretExists: this.#secretsOf(key, nodeImage),
    };
    return planOneNodeImage(observed, { creationDelayMs: options.nodeImageCreationDelayMs }, clock.now());
  }

  #jobGone(uid: string): void {
    this.#gone.add(uid);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= REMEMBERED_JOBS) break;
      this.#gone.delete(oldest);
    }
    this.#enqueueOwned(uid);
  }

  #enqueueOwned(job: string): void {
    const { objects, queue } = this.#deps;
    for (const { metadata } of objects.byIndex(OWNER_INDEX, job)) queue.add(metadata.name ?? "");
  }

  /**
   * An owner that this cache does not hold may be newer than it, or deleted while nobody looked: the server knows.
   * Asked once a job, not once a node.
   */
  async #askForUnknownJobs(nodeImage: NodeImage | undefined): Promise<void> {
    for (const image of Object.values(nodeImage?.spec?.images ?? {})) {
      for (const tag of image.tags ?? []) {
        for (const owner of tag.ownerReferences ?? []) if (this.#isUnknown(owner)) await this.#ask(owner);
      }
    }
  }

  #isUnknown(owner: TagOwner): boolean {
    if (owner.kind !== PULL_JOB || this.#gone.has(owner.uid ?? "")) return false;
    return this.#jobs.get(keyOfOwner(owner))?.metadata.uid !== owner.uid;
  }

  async #ask(owner: TagOwner): Promise<void> {
    const { client, signal } = this.#deps;
    const uid = owner.uid ?? "";
    const ref = { namespace: owner.namespace ?? "", name: owner.name ?? "" };
    if (ref.namespace === "" || ref.name === "") {
      this.#jobGone(uid);
      return;
    }
    try {
      const job = await client.get(imagePullJobResource, ref, { signal });
      if (job.metadata.uid !== uid) this.#jobGone(uid);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      this.#jobGone(uid);
    }
  }

  /** Only the agents' namespace is looked at, and only while a NodeImage names a secret that is not a copy. */
  #secretsOf(key: string, nodeImage: NodeImage | undefined): (secret: SecretReference) => boolean {
    const { daemonConfigNamespace: namespace } = this.#deps.options;
    const isUsed = Object.values(nodeImage?.spec?.images ?? {}).some((image) =>
      image.pullSecrets?.some((secret) => secret.mode !== "batch" && secret.namespace === namespace),
    );
    if (!isUsed) {
      this.#secrets.release(key);
      return () => true;
    }
    const [held] = this.#secrets.need(key, [{ namespace, labels: {} }]) ?? [];
    return (secret) =>
      held === undefined ||
      secret.namespace !== namespace ||
      held.get(keyOf({ namespace, name: secret.name ?? "" })) !== undefined;
  }
}

function keyOfOwner(owner: TagOwner): string {
  return keyOf({ namespace: owner.namespace ?? "", name: owner.name ?? "" });
}

/** Heartbeats change nothing that a NodeImage shows. */
function concernsNodeImage(change: Change<Node>): boolean {
  if (change.type !== "changed") return true;
  return !jsonEqual(nodeForImages(change.before), nodeForImages(change.object));
}
