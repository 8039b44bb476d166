/** The shell of ImageListPullJob: makes and removes its jobs, and carries out what the plan says. No policy here. */
import type { ImageListPullJob, ImagePullJob, ImagePullJobSpec } from "../../crds/index.ts";
import { keyOf, objectRef } from "../../kube/core/index.ts";
import { type Cache, isKubeError, type Outcome, type Random } from "../../kube/index.ts";
import { imagePullJobResource } from "../image_pull_job/resource.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { ownerReference } from "../rollout/pod_manifest.ts";
import { type StatusWriter, statusWriterOf } from "../rollout/status_writer.ts";
import { HASH_LABEL, type ListJobPlan, planImageListPullJob } from "./plan.ts";

const KIND = "ImageListPullJob";
const RETRY_MS = 100;
/** A name has at most 253 characters; five and a dash follow. */
const LONGEST_PREFIX = 247;
const LIST_INDEX = "list job";

export function imageListPullJobShell(deps: KindDeps<ImageListPullJob>): KindShell {
  return new ImageListPullJobShell(deps);
}

class ImageListPullJobShell implements KindShell {
  readonly #deps: KindDeps<ImageListPullJob>;
  readonly #children: Cache<ImagePullJob>;
  readonly #status: StatusWriter;

  constructor(deps: KindDeps<ImageListPullJob>) {
    this.#deps = deps;
    const { informers, queue } = deps;
    this.#children = informers.cacheOf(imagePullJobResource, { [LIST_INDEX]: listUids });
    this.#children.subscribe(({ object }) => {
      const name = listOf(object)?.name;
      if (name !== undefined) queue.add(`${object.metadata.namespace}/${name}`);
    });
    this.#status = statusWriterOf(deps);
  }

  coalescingMs(): number {
    return 0;
  }

  forget(_key: string, uid: string): void {
    this.#status.forget(uid);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  async reconcile(key: string): Promise<Outcome> {
    const { clock, objects } = this.#deps;
    const job = objects.get(key);
    if (job === undefined) return {};
    const { uid = "" } = job.metadata;
    const children = [...this.#children.byIndex(LIST_INDEX, uid)];
    const plan = planImageListPullJob({ job, children }, clock.now());
    try {
      return await this.#perform(key, job, plan);
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
      return { wakeAfterMs: RETRY_MS };
    }
  }

  async #perform(key: string, job: ImageListPullJob, plan: ListJobPlan): Promise<Outcome> {
    const { client, resource, signal } = this.#deps;
    const { uid = "" } = job.metadata;
    if (plan.remove) {
      const options = { uid, propagationPolicy: "Background", signal, flow: uid } as const;
      await ifPresent(client.delete(resource, objectRef(job), options));
      return {};
    }
    if (plan.label !== undefined) await this.#label(job, plan.label);
    // Told also where no job can be made. What is made or deleted now counts in the next pass, which its write queues.
    const wakeAfterMs = this.#report(key, job, plan);
    await this.#delete(job, plan.delete);
    await this.#create(job, plan);
    return { wakeAfterMs };
  }

  #report(key: string, job: ImageListPullJob, { status, wakeAfterMs }: ListJobPlan): number | undefined {
    if (status === undefined) return wakeAfterMs;
    const target = { key, uid: job.metadata.uid ?? "" };
    return this.#status.offer(
      target,
      job.status,
      status,
      status.desired,
      status.completionTime !== undefined,
    );
  }

  async #label(job: ImageListPullJob, hash: string): Promise<void> {
    const { client, objects, resource, signal } = this.#deps;
    const { resourceVersion = "", uid = "" } = job.metadata;
    const body = { metadata: { resourceVersion, labels: { [HASH_LABEL]: hash } } };
    objects.writeBack(
      await client.patch(resource, objectRef(job), { type: "merge", body }, { signal, flow: uid }),
    );
  }

  async #delete(job: ImageListPullJob, children: readonly ImagePullJob[]): Promise<void> {
    const { client, signal } = this.#deps;
    const { uid: flow = "" } = job.metadata;
    await Promise.all(
      children.map(async (child) => {
        const { uid = "" } = child.metadata;
        const left = await ifPresent(
          client.delete(imagePullJobResource, objectRef(child), { uid, signal, flow }),
        );
        if (left === undefined) this.#children.remove(keyOf(objectRef(child)), uid);
        else this.#children.writeBack(left);
      }),
    );
    if (children.length > 0) this.#tell(job, "delete", children.length);
  }

  /** In batches of 1, 2, 4, …: what refuses one refuses all. */
  async #create(job: ImageListPullJob, { create: specs, hash }: ListJobPlan): Promise<void> {
    let made = 0;
    try {
      for (let start = 0, size = 1; start < specs.length; start += size, size *= 2) {
        const batch = specs.slice(start, start + size);
        const results = await Promise.allSettled(batch.map((spec) => this.#createOne(job, spec, hash)));
        made += results.filter(({ status }) => status === "fulfilled").length;
        const failed = results.find((result) => result.status === "rejected");
        if (failed !== undefined) throw failed.reason;
      }
    } finally {
      if (made > 0) this.#tell(job, "create", made);
    }
  }

  async #createOne(job: ImageListPullJob, spec: ImagePullJobSpec, hash: string): Promise<void> {
    const { client, random, signal } = this.#deps;
    const { name = "", namespace = "", uid = "" } = job.metadata;
    const generateName = `${name.slice(0, LONGEST_PREFIX)}-`;
    const body = {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "ImagePullJob",
      metadata: {
        name: generateName + suffix(random),
        generateName,
        namespace,
        labels: { [HASH_LABEL]: hash },
        ownerReferences: [ownerReference(KIND, name, uid)],
      },
      spec,
    };
    this.#children.writeBack(
      await client.create(imagePullJobResource, namespace, body, { signal, flow: uid }),
    );
  }

  #tell(job: ImageListPullJob, what: "create" | "delete", count: number): void {
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = job.metadata;
    const target = {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: KIND,
      namespace,
      name,
      uid,
      resourceVersion,
    };
    const verb = what === "create" ? "Create" : "Delete";
    const reason = `Successful ${what} ImagePullJob`;
    this.#deps.recorder.event(target, "Normal", reason, `${verb} ${count} ImagePullJob`);
  }
}

/** The answer, undefined also when the object was gone already. */
async function ifPresent<T>(deletion: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await deletion;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

function listOf({ metadata }: ImagePullJob) {
  return metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === KIND);
}

function listUids(job: ImagePullJob): string[] {
  const list = listOf(job);
  return list === undefined ? [] : [list.uid];
}

const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

/** Five characters, as the API server appends them to generated names. */
function suffix(random: Random): string {
  return Array.from({ length: 5 }, () => SUFFIX[Math.floor(random() * SUFFIX.length)]).join("");
}
