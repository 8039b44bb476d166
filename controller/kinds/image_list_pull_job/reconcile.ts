/** ImageListPullJobs: carries out what the plan says of their jobs, an image each. No policy here. */
import type { ImageListPullJob, ImagePullJob, ImagePullJobSpec } from "../../../crds/index.ts";
import { objectRef } from "../../../kube/core/index.ts";
import { ownerKeyOf, ownersOf } from "../../plan/owners.ts";
import { ownerReference, randomId } from "../../rollout/pods/pod_manifest.ts";
import { Children } from "../../runtime/children.ts";
import { slowStart } from "../../runtime/executor/slow_start.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Pass, Reconciler } from "../../runtime/reconciler.ts";
import { eventTarget, groupVersionOf } from "../../runtime/shell.ts";
import { imagePullJobResource } from "../image_pull_job/resource.ts";
import { HASH_LABEL, type ListJobPlan, planImageListPullJob } from "./plan.ts";

/** A name has at most 253 characters; five and a dash follow. */
const LONGEST_PREFIX = 247;

export class ImageListPullJobReconciler implements Reconciler<ImageListPullJob> {
  readonly #deps: KindDeps<ImageListPullJob>;
  readonly #children: Children<ImagePullJob>;

  constructor(deps: KindDeps<ImageListPullJob>) {
    this.#deps = deps;
    this.#children = new Children(deps, deps.resource.kind, imagePullJobResource, ownersOf);
  }

  reconcile(job: ImageListPullJob): Pass {
    const children = [...this.#children.of(ownerKeyOf(job.metadata))];
    const plan = planImageListPullJob({ job, children }, this.#deps.clock.now());
    const { label, remove, status, requeueAfterMs } = plan;
    if (remove) return { actions: [{ type: "delete object" }] };
    const labels = { [HASH_LABEL]: label };
    return {
      status,
      size: status?.desired ?? 0,
      settled: status?.completionTime !== undefined,
      // What is made or deleted counts in the next pass, which its write queues.
      actions: [
        ...(label === undefined ? [] : [{ type: "patch object", body: { metadata: { labels } } } as const]),
        () => this.#delete(job, plan),
        () => this.#create(job, plan),
      ],
      requeueAfterMs,
    };
  }

  async #delete(job: ImageListPullJob, { delete: children }: ListJobPlan): Promise<void> {
    const { signal } = this.#deps;
    const { namespace = "", uid = "" } = job.metadata;
    await Promise.all(
      children.map(({ metadata }) =>
        this.#children.delete({ namespace, uid }, metadata.name ?? "", metadata.uid ?? "", {
          flow: uid,
          signal,
        }),
      ),
    );
    this.#report(job, "delete", children.length);
  }

  async #create(job: ImageListPullJob, { create, hash }: ListJobPlan): Promise<void> {
    const { succeeded, failure } = await slowStart(create, (spec) => this.#createOne(job, spec, hash));
    this.#report(job, "create", succeeded);
    if (failure !== undefined) throw failure.error;
  }

  #createOne(job: ImageListPullJob, spec: ImagePullJobSpec, hash: string): Promise<void> {
    const { random, resource, signal } = this.#deps;
    const { name, namespace } = objectRef(job);
    const { uid = "" } = job.metadata;
    const generateName = `${name.slice(0, LONGEST_PREFIX)}-`;
    const body = {
      apiVersion: groupVersionOf(imagePullJobResource),
      kind: imagePullJobResource.kind,
      metadata: {
        name: generateName + randomId(random),
        generateName,
        namespace,
        labels: { [HASH_LABEL]: hash },
        ownerReferences: [ownerReference(resource.kind, name, uid)],
      },
      spec,
    };
    return this.#children.create({ namespace, uid }, body.metadata.name, body, { flow: uid, signal });
  }

  #report(job: ImageListPullJob, what: "create" | "delete", count: number): void {
    if (count === 0) return;
    const verb = what === "create" ? "Create" : "Delete";
    const target = eventTarget(this.#deps.resource, job.metadata);
    const reason = `Successful ${what} ImagePullJob`;
    this.#deps.recorder.event(target, "Normal", reason, `${verb} ${count} ImagePullJob`);
  }
}
