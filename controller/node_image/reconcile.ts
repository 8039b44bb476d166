/** The shell of NodeImage: follows nodes, jobs and NodeImages, and carries out what the plan says. No policy here. */
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import { createMergePatch, keyOf } from "../../kube/core/index.ts";
import {
  type Cache,
  type Change,
  type EventTarget,
  isKubeError,
  type KubeError,
  type Node,
  type Outcome,
} from "../../kube/index.ts";
import { imagePullJobResource } from "../image_pull_job/resource.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { type PullSecret, pullSecretResource } from "../pull_secrets.ts";
import type { PodNeeds } from "../selected_pods.ts";
import { ownerUids, PULL_JOB, type SecretReference, type TagOwner } from "./model.ts";
import { type NodeImageAction, planOneNodeImage, type SeenNode } from "./plan.ts";
import type { FailedTask } from "./silence.ts";

const RETRY_MS = 100;
const REMEMBERED_JOBS = 16_384;
const OWNER_INDEX = "pull job";

export function nodeImageShell(deps: KindDeps<NodeImage>): KindShell {
  return new NodeImageShell(deps);
}

class NodeImageShell implements KindShell {
  readonly #deps: KindDeps<NodeImage>;
  readonly #jobs: Cache<ImagePullJob>;
  readonly #secrets: PodNeeds<PullSecret>;
  /** UIDs of jobs that are known to be gone; oldest first. */
  readonly #gone = new Set<string>();

  constructor(deps: KindDeps<NodeImage>) {
    this.#deps = deps;
    const { objects, caches, informers, queue } = deps;
    objects.addIndex(OWNER_INDEX, ownerUids);
    this.#jobs = informers.cacheOf(imagePullJobResource);
    this.#jobs.subscribe((change) => {
      if (change.type === "removed") this.#jobGone(change.object.metadata.uid ?? "");
    });
    caches.nodes.subscribe((change) => {
      if (concernsNodeImage(change)) queue.add(change.object.name);
    });
    this.#secrets = deps.selectPods(pullSecretResource).needs((key, change) => {
      if (change === undefined || change.type === "removed") queue.add(key);
    });
  }

  coalescingMs(): number {
    return 0;
  }

  forget(key: string): void {
    this.#secrets.release(key);
    // Deleted by hand: the node gets another one.
    this.#deps.queue.add(key);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  async reconcile(key: string): Promise<Outcome> {
    const { objects, caches, options, clock } = this.#deps;
    const nodeImage = objects.get(key);
    await this.#askForUnknownJobs(nodeImage);
    const node = caches.nodes.get(key);
    const plan = planOneNodeImage(
      {
        node: node === undefined ? undefined : seenNode(node),
        nodeImage,
        jobExists: (owner) => !this.#gone.has(owner.uid ?? ""),
        secretExists: this.#secretsOf(key, nodeImage),
      },
      { creationDelayMs: options.nodeImageCreationDelayMs },
      clock.now(),
    );
    if (plan.action === undefined) return { wakeAfterMs: plan.wakeAfterMs };
    try {
      await this.#perform(key, plan.action);
      return {};
    } catch (error) {
      if (!isRace(error)) throw error;
      // Somebody was faster: the watch brings what they did.
      return { wakeAfterMs: RETRY_MS };
    }
  }

  #jobGone(uid: string): void {
    this.#gone.add(uid);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= REMEMBERED_JOBS) break;
      this.#gone.delete(oldest);
    }
    for (const nodeImage of this.#deps.objects.byIndex(OWNER_INDEX, uid)) {
      this.#deps.queue.add(nodeImage.metadata.name ?? "");
    }
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

  async #perform(name: string, action: NodeImageAction): Promise<void> {
    const { client, objects, resource, signal } = this.#deps;
    const options = { signal, flow: "nodeimages" } as const;
    switch (action.type) {
      case "create": {
        const body = {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: "NodeImage",
          metadata: { name, labels: action.labels },
          spec: {},
        };
        objects.writeBack(await client.create(resource, undefined, body, options));
        return;
      }
      case "delete": {
        const { uid = "" } = action.nodeImage.metadata;
        const left = await client.delete(resource, { name }, { ...options, uid });
        if (left === undefined) objects.remove(name, uid);
        else objects.writeBack(left);
        return;
      }
      case "patch": {
        const { metadata, spec } = action.nodeImage;
        const { resourceVersion = "", labels = {} } = metadata;
        const changed =
          action.labels === undefined ? {} : { labels: createMergePatch(labels, action.labels) };
        const body = {
          metadata: { resourceVersion, ...changed },
          ...(action.spec === undefined ? {} : { spec: createMergePatch(spec, action.spec) }),
        };
        objects.writeBack(await client.patch(resource, { name }, { type: "merge", body }, options));
        return;
      }
      case "fail tasks": {
        const { metadata, status = {} } = action.nodeImage;
        const body = {
          metadata: { resourceVersion: metadata.resourceVersion ?? "" },
          status: createMergePatch(status, action.status),
        };
        const patch = { type: "merge", body } as const;
        const written = await client.patch(resource, { name }, patch, { ...options, subresource: "status" });
        objects.writeBack(written);
        for (const task of action.tasks) this.#tell(action.nodeImage, task);
        return;
      }
    }
  }

  #tell(nodeImage: NodeImage, { image, message, owners }: FailedTask): void {
    const { recorder } = this.#deps;
    const { name = "", uid = "", resourceVersion = "" } = nodeImage.metadata;
    const apiVersion = "apps.kruise.io/v1beta1";
    const text = `Failed to pull image ${image} on node ${name} for ${message}`;
    const targets: EventTarget[] = [{ apiVersion, kind: "NodeImage", name, uid, resourceVersion }];
    for (const owner of owners) {
      targets.push({
        apiVersion: owner.apiVersion ?? apiVersion,
        kind: owner.kind ?? PULL_JOB,
        name: owner.name ?? "",
        uid: owner.uid ?? "",
        ...(owner.namespace ? { namespace: owner.namespace } : {}),
      });
    }
    for (const target of targets) recorder.event(target, "Warning", "PullImageFailed", text);
  }
}

function isRace(error: unknown): error is KubeError {
  return isKubeError(error, "Conflict", "NotFound", "AlreadyExists");
}

function keyOfOwner(owner: TagOwner): string {
  return keyOf({ namespace: owner.namespace ?? "", name: owner.name ?? "" });
}

function seenNode(node: Node): SeenNode {
  return { labels: node.labels, readySince: readySince(node) };
}

function readySince(node: Node): number | undefined {
  const ready = node.conditions.find(({ type }) => type === "Ready");
  return ready?.status === "True" ? ready.lastTransitionAt : undefined;
}

/** Heartbeats change nothing that a NodeImage shows. */
function concernsNodeImage(change: Change<Node>): boolean {
  if (change.type !== "changed") return true;
  const { before, object } = change;
  return (
    readySince(before) !== readySince(object) ||
    JSON.stringify(before.labels) !== JSON.stringify(object.labels)
  );
}
